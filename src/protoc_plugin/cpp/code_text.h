// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_
#define SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_

#include <stddef.h>

#include <string>
#include <vector>

namespace protozero::plugin {

// Generated code, to which the functions append. Long code is broken into lines
// of kWidth columns, unless a single name is longer.
struct CodeText {
  static constexpr size_t kWidth = 100;
  // Headers are long: a function has a line of its own up to here.
  static constexpr size_t kFunctionWidth = 130;

  template <typename... Parts>
  void Line(const Parts&... parts) {
    (text.append(parts), ...);
    text += '\n';
  }

  // `<declaration> { <statement> }`, in three lines if need be.
  void Function(const std::string& declaration,
                const std::string& statement,
                const std::string& indent = "  ");

  // `<before><items><after>`, with commas between the items, in lines of kWidth
  // columns at most, unless a name is longer.
  void List(const std::string& before,
            const std::vector<std::string>& items,
            const std::string& after);

  std::string text;
};

// A line break in a comment, or a backslash at its end, would end it or extend
// it. protoc accepts both in the name of a file.
std::string CommentText(const std::string& text);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CODE_TEXT_H_
