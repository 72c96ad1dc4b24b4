// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/text_tokens.h"

#include <stdint.h>

#include <algorithm>
#include <charconv>

namespace pbz {

namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Appends a code point in UTF-8. Returns false if it is none.
bool AppendUtf8(uint32_t code_point, std::string* value) {
  const auto add = [value](uint32_t byte) {
    *value += static_cast<char>(byte);
  };
  const auto add_rest = [&](uint32_t shift) {
    add(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
    add_rest(0);
  } else if (code_point < 0x10000) {
    if (code_point >= 0xd800 && code_point < 0xe000)
      return false;
    add(0xe0 | code_point >> 12);
    add_rest(6);
    add_rest(0);
  } else if (code_point < 0x110000) {
    add(0xf0 | code_point >> 18);
    add_rest(12);
    add_rest(6);
    add_rest(0);
  } else {
    return false;
  }
  return true;
}

// Takes a number of |min_digits| to |max_digits| from the front of |text|.
// Returns false if it is shorter.
bool TakeNumber(int base,
                size_t min_digits,
                size_t max_digits,
                std::string_view* text,
                uint32_t* number) {
  const std::string_view digits = text->substr(0, max_digits);
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, *number, base);
  const auto size = static_cast<size_t>(result.ptr - digits.data());
  text->remove_prefix(size);
  return size >= min_digits;
}

// Appends what an escape stands for, and removes it. |text| begins after the
// backslash. Returns false if it is not valid.
bool TakeEscape(std::string_view* text, std::string* value) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"?";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?";
  if (text->empty())
    return false;
  uint32_t number = 0;
  const char letter = text->front();
  if (letter >= '0' && letter <= '7') {
    TakeNumber(8, 1, 3, text, &number);
    *value += static_cast<char>(number);
    return number < 256;
  }
  text->remove_prefix(1);
  switch (letter) {
    case 'x':
    case 'X':
      if (!TakeNumber(16, 1, 2, text, &number))
        return false;
      *value += static_cast<char>(number);
      return true;
    case 'u':
      return TakeNumber(16, 4, 4, text, &number) && AppendUtf8(number, value);
    case 'U':
      return TakeNumber(16, 8, 8, text, &number) && AppendUtf8(number, value);
  }
  const size_t index = kLetters.find(letter);
  if (index == kLetters.npos)
    return false;
  *value += kMeanings[index];
  return true;
}

}  // namespace

void TextTokens::Next() {
  line_ += static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n'));
  SkipSpaces();
  const size_t size = FindEnd();
  text_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
}

bool TextTokens::Accept(char sign) {
  if (!Is(sign))
    return false;
  Next();
  return true;
}

void TextTokens::SkipSpaces() {
  while (!rest_.empty()) {
    if (rest_[0] == '#') {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (IsSpace(rest_[0])) {
      line_ += rest_[0] == '\n';
      rest_.remove_prefix(1);
    } else {
      return;
    }
  }
}

size_t TextTokens::FindEnd() {
  if (rest_.empty()) {
    kind_ = Kind::kEnd;
    return 0;
  }
  const char first = rest_[0];
  size_t size = 1;
  if (first == '"' || first == '\'') {
    kind_ = Kind::kString;
    while (size < rest_.size() && rest_[size] != first && rest_[size] != '\n')
      size += rest_[size] == '\\' ? 2 : 1;
    const bool is_closed = size < rest_.size() && rest_[size] == first;
    return std::min(size + is_closed, rest_.size());
  }
  const bool is_number =
      IsDigit(first) || (first == '.' && rest_.size() > 1 && IsDigit(rest_[1]));
  if (!is_number && !IsLetter(first)) {
    kind_ = Kind::kSign;
    return 1;
  }
  kind_ = is_number ? Kind::kNumber : Kind::kWord;
  for (; size < rest_.size(); ++size) {
    const char c = rest_[size];
    // The sign of an exponent.
    const bool is_sign = (c == '-' || c == '+') &&
                         (rest_[size - 1] == 'e' || rest_[size - 1] == 'E');
    if (!IsLetter(c) && !IsDigit(c) && !(is_number && (c == '.' || is_sign)))
      break;
  }
  return size;
}

bool AppendUnescaped(std::string_view quoted, std::string* value) {
  const char quote = quoted[0];
  std::string_view text = quoted.substr(1);
  while (!text.empty() && text[0] != quote) {
    if (text[0] == '\n')
      return false;
    if (text[0] != '\\') {
      *value += text[0];
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    if (!TakeEscape(&text, value))
      return false;
  }
  return !text.empty();
}

}  // namespace pbz
