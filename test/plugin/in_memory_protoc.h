// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_IN_MEMORY_PROTOC_H_
#define TEST_PLUGIN_IN_MEMORY_PROTOC_H_

#include <map>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.pb.h>

#include "src/protoc_plugin/languages.h"

namespace protozero::plugin {

// The result of running protoc with the plugin.
struct ProtocResult {
  bool ok = false;
  std::string error;                         // From the plugin or protoc.
  std::map<std::string, std::string> files;  // Path -> text.

  const std::string& header(const std::string& path) const {
    return files.at(path);
  }
};

// Parses schemas with protoc's own parser and runs the generator on them, all
// in this process and in memory.
//   schemas: path -> text of every .proto, imports included. google/protobuf/
//       descriptor.proto is always there.
//   to_generate: paths; all of `schemas` if empty.
//   parameter: the text before the colon in --plugin_out.
//   languages: the languages that the plugin knows.
ProtocResult RunProtoc(
    const std::map<std::string, std::string>& schemas,
    const std::vector<std::string>& to_generate = {},
    const std::string& parameter = "wrapper_namespace=pbzero",
    const std::vector<Language>& languages = Languages());

// Runs the generator alone on a descriptor, even one that protoc's parser would
// not make.
ProtocResult RunOnDescriptor(
    const google::protobuf::FileDescriptorProto& descriptor,
    const std::string& parameter);

// Runs the plugin on one file, a.proto.
ProtocResult RunProtoc(const std::string& schema);

}  // namespace protozero::plugin

#endif  // TEST_PLUGIN_IN_MEMORY_PROTOC_H_
