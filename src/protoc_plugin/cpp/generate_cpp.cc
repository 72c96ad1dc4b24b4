// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/generate_cpp.h"

#include <set>
#include <utility>

#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/cpp/cpp_names.h"
#include "src/protoc_plugin/cpp/file_builder.h"
#include "src/protoc_plugin/cpp/pbzero_writer.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

struct CppOptions {
  // The innermost namespaces of all generated code, inside those of the
  // package. `wrapper_namespace=a::b` gives two; there may be none.
  std::vector<std::string> wrapper_namespaces;
  // The name of the library's namespace in generated code.
  std::string runtime_namespace = "protozero";
  // True if classes of extensions have the file's descriptors.
  bool has_descriptors = false;
};

bool SplitNamespaces(const std::string& value,
                     std::vector<std::string>* namespaces) {
  size_t begin = 0;
  for (;;) {
    const size_t end = value.find("::", begin);
    const std::string part = value.substr(begin, end - begin);
    if (!IsIdentifier(part) || EscapeName(part) != part)
      return false;
    namespaces->push_back(part);
    if (end == std::string::npos)
      return true;
    begin = end + 2;
  }
}

bool IsOfOtherPlugins(const std::string& name) {
  for (const char* option :
       {"external_crate", "guard_add_prefix", "guard_add_prefix_external",
        "guard_strip_prefix", "guard_strip_prefix_external", "invoker",
        "local_files", "path_add_prefix", "path_add_prefix_external",
        "path_strip_prefix", "path_strip_prefix_external"}) {
    if (name == option)
      return true;
  }
  return false;
}

// Parses the options. On failure returns false and sets `error` to a sentence
// that names the wrong option and the allowed ones.
bool ParseCppOptions(const std::vector<Option>& options,
                     CppOptions* result,
                     std::string* error) {
  std::set<std::string> seen;
  for (const auto& [name, value] : options) {
    // With this option, Perfetto's plugin includes the one header of its SDK.
    // This library has no such header, and needs no option for its own.
    if (name == "sdk" && (value == "true" || value == "1"))
      continue;
    if (name == "sdk") {
      *error =
          "option 'sdk' is ignored, and takes 'true' or '1' only; leave it out";
      return false;
    }
    if (name == "descriptors" && value == "true") {
      result->has_descriptors = true;
      continue;
    }
    if (name == "descriptors") {
      *error = "option 'descriptors' takes 'true' only; leave it out otherwise";
      return false;
    }
    if (IsOfOtherPlugins(name)) {
      *error = "option '" + name +
               "' is one of Perfetto's plugins for C and Rust, and means "
               "nothing for a C++ header; leave it out";
      return false;
    }
    if (name != "wrapper_namespace" && name != "runtime_namespace") {
      *error = UnknownOption(
          name,
          "wrapper_namespace=NAMESPACE, runtime_namespace=NAMESPACE, "
          "descriptors=true");
      return false;
    }
    if (!value || value->empty()) {
      *error = "option '" + name + "' has no value; write " + name +
               "=NAMESPACE, or leave it out";
      return false;
    }
    if (!seen.insert(name).second) {
      *error = "option '" + name + "' is given twice; remove one of them";
      return false;
    }
    std::vector<std::string> namespaces;
    const bool is_valid = SplitNamespaces(*value, &namespaces);
    if (name == "wrapper_namespace") {
      if (!is_valid) {
        *error = "option 'wrapper_namespace' has the value '" + *value +
                 "', which is not a C++ namespace; use identifiers that are "
                 "not reserved words, joined by '::'";
        return false;
      }
      result->wrapper_namespaces = namespaces;
    } else {
      if (!is_valid || namespaces.size() != 1 ||
          (IsGlobalName(*value) && *value != "protozero")) {
        *error = "option 'runtime_namespace' has the value '" + *value +
                 "', which cannot name a namespace; use one identifier that is "
                 "not a reserved word";
        return false;
      }
      result->runtime_namespace = *value;
    }
  }
  return true;
}

}  // namespace

bool GenerateCpp(const Schema& schema,
                 const std::vector<Option>& options,
                 std::vector<OutputFile>* output,
                 std::string* error) {
  CppOptions cpp_options;
  if (!ParseCppOptions(options, &cpp_options, error))
    return false;

  const CppNames names(schema, cpp_options.wrapper_namespaces,
                       cpp_options.runtime_namespace);
  std::vector<CppFile> files;
  std::vector<Diagnostic> diagnostics;
  for (const File* file : schema.to_generate)
    files.push_back(BuildCppFile(names, *file, &diagnostics));
  *error = ToText(diagnostics);
  if (!diagnostics.empty())
    return false;
  for (CppFile& file : files) {
    if (!cpp_options.has_descriptors)
      file.descriptor_set.clear();
    output->push_back({file.header_path, WritePbzeroHeader(file)});
    output->push_back({SourcePath(file.proto_path), std::string()});
  }
  return true;
}

}  // namespace protozero::plugin
