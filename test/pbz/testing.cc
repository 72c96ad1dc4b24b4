// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/pbz/testing.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "gtest/gtest.h"

namespace pbz {

namespace {

class Errors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int, const std::string& message) override {
    ADD_FAILURE() << line << ": " << message;
  }
};

}  // namespace

std::string DescriptorSet(const std::string& proto) {
  google::protobuf::FileDescriptorSet set;
  google::protobuf::io::ArrayInputStream stream(proto.data(),
                                                static_cast<int>(proto.size()));
  Errors errors;
  google::protobuf::io::Tokenizer tokenizer(&stream, &errors);
  google::protobuf::compiler::Parser parser;
  google::protobuf::FileDescriptorProto file;
  if (!parser.Parse(&tokenizer, &file))
    return std::string();
  file.set_name("t.proto");
  // The pool gives the full names of types, as protoc writes them.
  google::protobuf::DescriptorPool pool;
  const auto* descriptor = pool.BuildFile(file);
  if (!descriptor) {
    ADD_FAILURE() << "not a valid schema";
    return std::string();
  }
  descriptor->CopyTo(set.add_file());
  return set.SerializeAsString();
}

std::unique_ptr<Schema> ParseSchema(const std::string& proto) {
  std::string error;
  std::unique_ptr<Schema> schema =
      Schema::Parse(AsBytes(DescriptorSet(proto)), &error);
  EXPECT_TRUE(schema) << error;
  return schema;
}

std::string Bytes(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (!isspace(static_cast<unsigned char>(c)))
      digits += c;
  }
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes +=
        static_cast<char>(strtoul(digits.substr(i, 2).c_str(), nullptr, 16));
  }
  return bytes;
}

protozero::ConstBytes AsBytes(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string Printed(const std::function<void(FILE*)>& print) {
  char* text = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  print(file);
  fclose(file);
  const std::string result(text, size);
  free(text);
  return result;
}

ScopedFile FileOf(const std::string& bytes) {
  FILE* file = tmpfile();
  fwrite(bytes.data(), 1, bytes.size(), file);
  rewind(file);
  return ScopedFile(file, fclose);
}

}  // namespace pbz
