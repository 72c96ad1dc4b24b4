// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/code_text.h"

#include <algorithm>

namespace protozero::plugin {

void CodeText::Function(const std::string& declaration,
                        const std::string& statement,
                        const std::string& indent) {
  const std::string line = indent + declaration + " { " + statement + " }";
  // Only the first line of a long literal counts here.
  if (std::min(line.find('\n'), line.size()) <= kFunctionWidth) {
    Line(line);
    return;
  }
  Line(indent, declaration, " {");
  Line(indent, "  ", statement);
  Line(indent, "}");
}

void CodeText::List(const std::string& before,
                    const std::vector<std::string>& items,
                    const std::string& after) {
  std::string line = before;
  for (const std::string& item : items) {
    const bool is_last = &item == &items.back();
    const std::string part = item + (is_last ? after : ", ");
    // Counts no space after the comma, because the item may be the last of its
    // line.
    if (line.size() + item.size() + (is_last ? after.size() : 1) > kWidth) {
      Line(line.substr(0, line.find_last_not_of(' ') + 1));
      line = "      ";
    }
    line += part;
  }
  Line(items.empty() ? before + after : line);
}

std::string CommentText(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '\n' || c == '\r' || c == '\\' ? '?' : c;
  return result;
}

}  // namespace protozero::plugin
