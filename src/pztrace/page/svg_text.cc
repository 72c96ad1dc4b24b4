// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/svg_text.h"

#include <stdarg.h>
#include <stdio.h>

#include <algorithm>

#include "src/program/text.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

void Append(std::string* out, const char* format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  out->append(
      text, std::min(static_cast<size_t>(std::max(size, 0)), sizeof(text) - 1));
}

std::string XmlText(std::string_view name) {
  std::string text;
  for (const char letter : ShownName(name)) {
    switch (letter) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      default:
        text += letter;
    }
  }
  return text;
}

size_t CountLetters(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(),
                    [](char c) { return !program::ContinuesCharacter(c); }));
}

std::string Fitting(std::string_view name, double width) {
  const double limit = width / kLetter;
  std::string text = ShownName(name);
  if (static_cast<double>(CountLetters(text)) <= limit)
    return text;
  if (limit < 4)
    return "";
  size_t size = 0;
  for (size_t letters = 0; size < text.size(); ++size) {
    if (!program::ContinuesCharacter(text[size]) &&
        ++letters > static_cast<size_t>(limit) - 1) {
      break;
    }
  }
  return text.substr(0, size) + "\u2026";
}

}  // namespace pztrace
