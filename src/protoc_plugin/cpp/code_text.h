// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_
#define SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_

#include <string>

namespace protozero::plugin {

// Generated code, to which the functions append.
struct CodeText {
  template <typename... Parts>
  void Line(const Parts&... parts) {
    (text.append(parts), ...);
    text += '\n';
  }

  // A member function in one line: `  <declaration> { <statement> }`
  void Function(const std::string& declaration, const std::string& statement) {
    Line("  ", declaration, " { ", statement, " }");
  }

  std::string text;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_
