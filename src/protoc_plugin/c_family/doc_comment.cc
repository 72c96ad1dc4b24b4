// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/doc_comment.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace protozero::plugin {

namespace {

constexpr size_t kCommentWidth = 100;

bool IsContinuation(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) == 0x80;
}

// Returns the number of bytes of the character at the front of `text`; 0 if it
// is not UTF-8.
size_t Utf8Size(std::string_view text, uint32_t* character) {
  const auto lead = static_cast<uint8_t>(text[0]);
  *character = lead;
  if (lead < 0x80)
    return 1;
  const size_t size = lead < 0xc2   ? 0
                      : lead < 0xe0 ? 2
                      : lead < 0xf0 ? 3
                      : lead < 0xf5 ? 4
                                    : 0;
  if (size == 0 || size > text.size())
    return 0;
  *character = lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i]))
      return 0;
    *character = *character << 6 | (static_cast<uint8_t>(text[i]) & 0x3f);
  }
  // Overlong encodings, surrogates, and numbers beyond Unicode.
  const bool is_valid = *character >= (size == 3   ? 0x800u
                                       : size == 4 ? 0x10000u
                                                   : 0x80u) &&
                        (*character < 0xd800 || *character > 0xdfff) &&
                        *character <= 0x10ffff;
  return is_valid ? size : 0;
}

bool IsHarmless(uint32_t character) {
  // Compilers warn of characters that change the direction, because they can
  // make code look like a comment.
  const bool is_direction = (character >= 0x202a && character <= 0x202e) ||
                            (character >= 0x2066 && character <= 0x2069);
  const bool is_line_break = character == 0x2028 || character == 0x2029;
  const bool is_control =
      character < 0x20 || (character >= 0x7f && character < 0xa0);
  return !is_direction && !is_line_break && !is_control;
}

std::string Clean(std::string_view line) {
  std::string clean;
  while (!line.empty()) {
    uint32_t character = 0;
    const size_t size = Utf8Size(line, &character);
    if (character == '\t' || line == "\r")
      clean += ' ';
    else if (size == 0 || !IsHarmless(character))
      clean += '?';
    else
      clean += line.substr(0, size);
    line.remove_prefix(std::max<size_t>(size, 1));
  }
  return clean.substr(0, clean.find_last_not_of(' ') + 1);
}

std::vector<std::string> SplitIntoLines(const std::string& comment) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin <= comment.size()) {
    const size_t end = std::min(comment.find('\n', begin), comment.size());
    std::string line =
        Clean(std::string_view(comment).substr(begin, end - begin));
    // For doc comments of the schema, protoc leaves the last character of
    // `///`, and of `/**`.
    if (!line.empty() && (line[0] == '/' || (begin == 0 && line[0] == '*')))
      line.erase(0, 1);
    begin = end + 1;
    // Empty lines at the beginning are left out.
    if (!line.empty() || !lines.empty())
      lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

// Removes the text that fits into one line from the front of `line`, and
// returns it.
std::string TakeLine(size_t width, std::string* line) {
  if (line->size() <= width) {
    std::string all;
    all.swap(*line);
    return all;
  }
  const size_t indent = line->find_first_not_of(' ');
  size_t end = line->rfind(' ', width);
  if (end == std::string::npos || end <= indent) {
    // A single word is too long: it is broken.
    end = width;
    while (IsContinuation((*line)[end]))
      --end;
  }
  const std::string taken = line->substr(0, end);
  line->erase(0, std::min(line->find_first_not_of(' ', end), line->size()));
  return taken;
}

}  // namespace

std::string DocComment(const std::string& comment, const std::string& indent) {
  std::string text;
  for (std::string& line : SplitIntoLines(comment)) {
    do {
      if (!line.empty() && line[0] != ' ')
        line.insert(0, 1, ' ');
      std::string part = TakeLine(kCommentWidth - indent.size() - 3, &line);
      part.erase(part.find_last_not_of(' ') + 1);
      // A backslash or its trigraph would make the next line a comment, too.
      if (!part.empty() &&
          (part.back() == '\\' ||
           (part.size() > 2 && part.compare(part.size() - 3, 3, "?\?/") == 0)))
        part.back() = '?';
      text += indent + "///" + part + "\n";
    } while (!line.empty());
  }
  return text;
}

}  // namespace protozero::plugin
