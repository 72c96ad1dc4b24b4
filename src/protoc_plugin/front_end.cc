// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/front_end.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <string>

#include <google/protobuf/compiler/plugin.h>

#include "protozero/config.h"
#include "src/protoc_plugin/generator.h"

// If a schema has an edition, a libprotobuf without editions only reports that
// the syntax "editions" is unrecognized, before it asks the generator. So with
// such a libprotobuf, the plugin answers requests itself.
#if !PROTOZERO_PLUGIN_HAS_EDITIONS

#include <vector>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

#include <google/protobuf/compiler/plugin.pb.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>

#endif

namespace protozero::plugin {

namespace {

constexpr char kHelp[] =
    R"(Usage: %s [options]

  protoc --plugin=protoc-gen-pbzero=PATH --pbzero_out=DIR FILE.proto

protoc runs this program, at PATH, to make FILE.pbzero.h: C++ classes that write
and read the messages of FILE.proto. With --pbzero_out=lang=c:DIR it makes
FILE.pbzero_c.h, which is C.

  -h, --help  print this
  --version   print the version, and that of libprotobuf
)";

// Returns "3.21.12", the version of the headers. libprotobuf refuses to run
// with others.
std::string LibprotobufVersion() {
  constexpr int kVersionNumber = GOOGLE_PROTOBUF_VERSION;
  return std::to_string(kVersionNumber / 1000000) + "." +
         std::to_string(kVersionNumber / 1000 % 1000) + "." +
         std::to_string(kVersionNumber % 1000);
}

// Returns "protozero_plugin 0.1.0 (libprotobuf 3.21.12, without editions)".
std::string VersionText(const std::string& program) {
#if PROTOZERO_PLUGIN_HAS_EDITIONS
  // The name is EDITION_2024, for example.
  const std::string newest =
      google::protobuf::Edition_Name(Generator().GetMaximumEdition());
  const std::string editions =
      "editions up to " + newest.substr(newest.find('_') + 1);
#else
  const std::string editions = "without editions";
#endif
  return program + " " + std::to_string(PROTOZERO_VERSION / 10000) + "." +
         std::to_string(PROTOZERO_VERSION / 100 % 100) + "." +
         std::to_string(PROTOZERO_VERSION % 100) + " (libprotobuf " +
         LibprotobufVersion() + ", " + editions + ")";
}

#if !PROTOZERO_PLUGIN_HAS_EDITIONS

using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::compiler::CodeGeneratorRequest;
using google::protobuf::compiler::CodeGeneratorResponse;
using google::protobuf::compiler::GeneratorContext;
using google::protobuf::io::StringOutputStream;
using google::protobuf::io::ZeroCopyOutputStream;

// A context that collects files as parts of a response.
class ResponseContext : public GeneratorContext {
 public:
  explicit ResponseContext(CodeGeneratorResponse* response)
      : response_(response) {}

  ZeroCopyOutputStream* Open(const std::string& path) override {
    CodeGeneratorResponse::File* file = response_->add_file();
    file->set_name(path);
    return new StringOutputStream(file->mutable_content());
  }

 private:
  CodeGeneratorResponse* const response_;
};

// Returns an error, which is empty if all files of |request| can be read.
std::string EditionsError(const CodeGeneratorRequest& request) {
  for (const FileDescriptorProto& file : request.proto_file()) {
    if (file.syntax() != "editions")
      continue;
    std::string text = file.name() + ":1: editions are unknown to " +
                       VersionText("protozero_plugin");
    if (request.has_compiler_version()) {
      // protoc's version leaves out the major number, which only the library
      // has.
      text += ", but not to protoc " +
              std::to_string(request.compiler_version().minor()) + "." +
              std::to_string(request.compiler_version().patch());
    }
    return text +
           "; build the plugin with libprotobuf 27 or newer, or write the "
           "schema as proto2 or proto3";
  }
  return std::string();
}

// Makes protoc print the error in the response. Otherwise it would compare
// editions first, and tell the user to ask this plugin's owner for support.
void ClaimEveryEdition(CodeGeneratorResponse* response) {
  constexpr uint64_t kSupportsEditions = 2;
  response->set_supported_features(response->supported_features() |
                                   kSupportsEditions);
  // The numbers of fields that this libprotoc does not have yet.
  constexpr int kMinimumEdition = 3;
  constexpr int kMaximumEdition = 4;
  google::protobuf::UnknownFieldSet* fields =
      response->GetReflection()->MutableUnknownFields(response);
  fields->AddVarint(kMinimumEdition, 0);
  fields->AddVarint(kMaximumEdition, INT32_MAX);
}

// Answers the request. Returns false if there is no response; standard error
// has the reason.
bool Answer(const CodeGeneratorRequest& request,
            CodeGeneratorResponse* response) {
  const Generator generator;
  response->set_supported_features(generator.GetSupportedFeatures());
  std::string error = EditionsError(request);
  if (!error.empty()) {
    ClaimEveryEdition(response);
    response->set_error(error);
    return true;
  }

  google::protobuf::DescriptorPool pool;
  for (const FileDescriptorProto& file : request.proto_file()) {
    if (pool.BuildFile(file) == nullptr)
      return false;  // The pool prints the reason.
  }
  std::vector<const FileDescriptor*> files;
  for (const std::string& name : request.file_to_generate()) {
    files.push_back(pool.FindFileByName(name));
    if (files.back() == nullptr) {
      fprintf(stderr, "protoc asks for %s, but does not send it\n",
              name.c_str());
      return false;
    }
  }
  ResponseContext context(response);
  if (!generator.GenerateAll(files, request.parameter(), &context, &error))
    response->set_error(error);
  return true;
}

int AnswerRequest(const std::string& program) {
#if defined(_WIN32)
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
#endif
  CodeGeneratorRequest request;
  if (!request.ParseFromFileDescriptor(fileno(stdin))) {
    fprintf(stderr, "%s: standard input is no request of protoc\n",
            program.c_str());
    return 1;
  }
  CodeGeneratorResponse response;
  if (!Answer(request, &response))
    return 1;
  if (!response.SerializeToFileDescriptor(fileno(stdout))) {
    fprintf(stderr, "%s: cannot write to standard output\n", program.c_str());
    return 1;
  }
  return 0;
}

#endif  // !PROTOZERO_PLUGIN_HAS_EDITIONS

}  // namespace

int RunPlugin(int argc, char** argv) {
  const char* slash = strrchr(argv[0], '/');
  const std::string program = slash != nullptr ? slash + 1 : argv[0];
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("%s\n", VersionText(program).c_str());
    return 0;
  }
  if (argc == 2 &&
      (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    printf(kHelp, program.c_str());
    return 0;
  }
  if (argc > 1) {
    fprintf(stderr,
            "%s: unknown argument '%s'; protoc calls this program\n"
            "Try %s --help.\n",
            program.c_str(), argv[1], program.c_str());
    return 1;
  }
#if PROTOZERO_PLUGIN_HAS_EDITIONS
  const Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
#else
  return AnswerRequest(program);
#endif
}

}  // namespace protozero::plugin
