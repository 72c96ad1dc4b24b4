// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/options.h"

#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/reserved_words.h"

namespace protozero::plugin {

namespace {

bool SplitNamespaces(const std::string& value,
                     std::vector<std::string>* namespaces) {
  size_t begin = 0;
  for (;;) {
    const size_t end = value.find("::", begin);
    const std::string part = value.substr(begin, end - begin);
    if (!IsIdentifier(part) || EscapeName(part) != part || IsBareName(part))
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

}  // namespace

bool ParseOptions(const std::string& text,
                  Options* options,
                  std::string* error) {
  bool seen_wrapper_namespace = false;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find(',', begin);
    if (end == std::string::npos)
      end = text.size();
    const std::string option = text.substr(begin, end - begin);
    begin = end + 1;
    if (option.empty())
      continue;

    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    // Perfetto's plugin then includes the one header of its SDK. There is none
    // here, and no need for another.
    if (option == "sdk=true" || option == "sdk=1")
      continue;
    if (name == "sdk") {
      *error =
          "option 'sdk' is ignored, and takes 'true' or '1' only; leave it out";
      return false;
    }
    if (IsOfOtherPlugins(name)) {
      *error = "option '" + name +
               "' is one of Perfetto's plugins for C and Rust, and means "
               "nothing for a C++ header; leave it out";
      return false;
    }
    if (name != "wrapper_namespace") {
      *error = "unknown option '" + name +
               "'; the known options are: wrapper_namespace=NAMESPACE";
      return false;
    }
    if (equals == std::string::npos) {
      *error =
          "option 'wrapper_namespace' has no value; write "
          "wrapper_namespace=NAMESPACE";
      return false;
    }
    if (seen_wrapper_namespace) {
      *error = "option 'wrapper_namespace' is given twice; remove one of them";
      return false;
    }
    seen_wrapper_namespace = true;
    const std::string value = option.substr(equals + 1);
    // An explicitly empty value is how a build rule with a default says "none".
    if (!value.empty() &&
        !SplitNamespaces(value, &options->wrapper_namespaces)) {
      *error = "option 'wrapper_namespace' has the value '" + value +
               "', which is not a C++ namespace; use identifiers that are not "
               "reserved words, joined by '::'";
      return false;
    }
  }
  return true;
}

}  // namespace protozero::plugin
