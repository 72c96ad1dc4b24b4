// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Runs the plugin on a FileDescriptorSet of any content. libprotobuf refuses
// sets that are not valid schemas, as it does for protoc. For a valid schema,
// the plugin writes a header for each file, or gives an error with the reason.

#include <stddef.h>
#include <stdint.h>

#include <string>

#include <google/protobuf/compiler/plugin.h>
#include <google/protobuf/compiler/plugin.pb.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>

#include "src/protoc_plugin/generator.h"
#include "test/fuzz/check.h"
#include "test/fuzz/message_mutator.h"

namespace {

using protozero::test::Check;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // This silences messages about invalid schemas.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                          size_t size,
                                          size_t max_size,
                                          unsigned int seed) {
  google::protobuf::FileDescriptorSet set;
  return protozero::test::MutateEncoded(&set, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromArray(data, static_cast<int>(size)))
    return -1;
  google::protobuf::compiler::CodeGeneratorRequest request;
  request.set_parameter(size % 2 ? "wrapper_namespace=pbzero" : "");
  for (const auto& file : set.file()) {
    request.add_file_to_generate(file.name());
    *request.add_proto_file() = file;
  }
  google::protobuf::compiler::CodeGeneratorResponse response;
  std::string error;
  const protozero::plugin::Generator generator;
  if (!google::protobuf::compiler::GenerateCode(request, generator, &response,
                                                &error)) {
    return 0;
  }
  Check(response.has_error() != (response.file_size() != 0) ||
            set.file_size() == 0,
        "neither files nor an error, or both");
  Check(!response.has_error() || !response.error().empty(), "an empty error");
  Check(response.has_error() || response.file_size() == 2 * set.file_size(),
        "not two files for each schema");
  return 0;
}
