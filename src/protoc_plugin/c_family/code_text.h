// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_CODE_TEXT_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_CODE_TEXT_H_

#include <stddef.h>

#include <string>
#include <vector>

namespace protozero::plugin {

// Generated code, to which the functions append. Long code is broken into lines
// of kWidth columns, unless a single name is longer.
struct CodeText {
  static constexpr size_t kWidth = 100;
  // The largest width of a function in one line. It is larger because headers
  // are long.
  static constexpr size_t kFunctionWidth = 130;

  template <typename... Parts>
  void Line(const Parts&... parts) {
    (text.append(parts), ...);
    text += '\n';
  }

  // Appends `<declaration> { <statement> }`, in three lines if necessary.
  void Function(const std::string& declaration,
                const std::string& statement,
                const std::string& indent = "  ");

  // Appends `<before><items><after>`, with commas between the items, in lines
  // of kWidth columns at most, unless a name is longer.
  void List(const std::string& before,
            const std::vector<std::string>& items,
            const std::string& after);

  std::string text;
};

// Returns `text` so that it can stand in a comment. A line break would end the
// comment, a backslash at its end would extend it, and protoc accepts both in
// the name of a file.
std::string CommentText(const std::string& text);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_CODE_TEXT_H_
