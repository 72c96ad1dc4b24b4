// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/json_reader.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <variant>

#include "src/program/text.h"

namespace program {

namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void AppendCodePoint(uint32_t code_point, std::string* text) {
  if (code_point < 0x80) {
    *text += static_cast<char>(code_point);
    return;
  }
  const int num_later = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint32_t kFirstBytes[] = {0, 0xc0, 0xe0, 0xf0};
  *text +=
      static_cast<char>(kFirstBytes[num_later] | code_point >> (6 * num_later));
  for (int i = num_later - 1; i >= 0; --i)
    *text += static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3f));
}

// Reads JSON value by value. It stops at a value that is not JSON.
class JsonReader {
 public:
  JsonReader(std::string_view text, ValueSink* sink, int max_depth)
      : text_(text), sink_(sink), max_depth_(max_depth) {}

  bool ReadAll() {
    if (!IsUtf8(text_) || !ReadValue(0))
      return false;
    SkipSpaces();
    return text_.empty();
  }

 private:
  void SkipSpaces() {
    const size_t spaces = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(spaces, text_.size()));
  }

  bool StartsWith(char c) const { return !text_.empty() && text_[0] == c; }

  // Takes |c| if it is next, after spaces.
  bool TakeIf(char c) {
    SkipSpaces();
    if (!StartsWith(c))
      return false;
    text_.remove_prefix(1);
    return true;
  }

  bool ReadWord(std::string_view word, const Value& value) {
    if (text_.substr(0, word.size()) != word)
      return false;
    text_.remove_prefix(word.size());
    sink_->Add(value);
    return true;
  }

  bool ReadValue(int depth) {
    SkipSpaces();
    if (StartsWith('{') || StartsWith('['))
      return depth < max_depth_ && ReadContainer(depth + 1);
    if (StartsWith('"')) {
      std::string text;
      const bool ok = ReadString(&text);
      sink_->Add(std::string_view(text));
      return ok;
    }
    return ReadWord("true", true) || ReadWord("false", false) ||
           ReadWord("null", std::monostate()) || ReadNumber();
  }

  bool ReadContainer(int depth) {
    const bool is_dictionary = text_[0] == '{';
    const char end = is_dictionary ? '}' : ']';
    text_.remove_prefix(1);
    sink_->Begin(is_dictionary ? ValueSink::Container::kDictionary
                               : ValueSink::Container::kArray);
    bool ok = true;
    if (!TakeIf(end)) {
      do {
        ok = (!is_dictionary || ReadName()) && ReadValue(depth);
      } while (ok && TakeIf(','));
      ok = ok && TakeIf(end);
    }
    sink_->End();
    return ok;
  }

  bool ReadName() {
    SkipSpaces();
    std::string name;
    if (!StartsWith('"') || !ReadString(&name))
      return false;
    sink_->Name(name);
    return TakeIf(':');
  }

  // Reads a string. A lone half of a surrogate pair becomes U+FFFD.
  bool ReadString(std::string* text) {
    text_.remove_prefix(1);
    while (!text_.empty()) {
      const char c = text_[0];
      text_.remove_prefix(1);
      if (c == '"')
        return true;
      if (static_cast<unsigned char>(c) < ' ')
        return false;
      if (c != '\\')
        *text += c;
      else if (!ReadEscape(text))
        return false;
    }
    return false;
  }

  bool ReadEscape(std::string* text) {
    constexpr std::string_view kEscapes = "\"\\/bfnrtu";
    if (text_.empty())
      return false;
    const size_t escape = kEscapes.find(text_[0]);
    text_.remove_prefix(1);
    if (escape == std::string_view::npos)
      return false;
    if (kEscapes[escape] == 'u')
      return ReadUnicodeEscape(text);
    *text += "\"\\/\b\f\n\r\t"[escape];
    return true;
  }

  // Reads the four digits of a \u.
  bool ReadHexDigits(uint32_t* value) {
    const std::string_view digits = text_.substr(0, 4);
    if (digits.size() != 4 ||
        !std::all_of(digits.begin(), digits.end(), IsHexDigit)) {
      return false;
    }
    std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16);
    text_.remove_prefix(digits.size());
    return true;
  }

  bool ReadUnicodeEscape(std::string* text) {
    uint32_t code_point = 0;
    if (!ReadHexDigits(&code_point))
      return false;
    const std::string_view after = text_;
    uint32_t low = 0;
    if (code_point >= 0xd800 && code_point < 0xdc00 &&
        text_.substr(0, 2) == "\\u") {
      text_.remove_prefix(2);
      if (ReadHexDigits(&low) && low >= 0xdc00 && low < 0xe000)
        code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
      else
        text_ = after;
    }
    if (code_point >= 0xd800 && code_point < 0xe000)
      code_point = 0xfffd;
    AppendCodePoint(code_point, text);
    return true;
  }

  size_t DigitsAt(size_t begin) const {
    size_t end = begin;
    while (end < text_.size() && IsDigit(text_[end]))
      ++end;
    return end - begin;
  }

  bool ReadNumber() {
    size_t size = StartsWith('-') ? 1 : 0;
    const size_t digits = DigitsAt(size);
    if (digits == 0 || (digits > 1 && text_[size] == '0'))
      return false;
    size += digits;
    if (size < text_.size() && text_[size] == '.') {
      const size_t fraction = DigitsAt(size + 1);
      if (fraction == 0)
        return false;
      size += 1 + fraction;
    }
    if (size < text_.size() && (text_[size] == 'e' || text_[size] == 'E')) {
      ++size;
      if (size < text_.size() && (text_[size] == '+' || text_[size] == '-'))
        ++size;
      const size_t exponent = DigitsAt(size);
      if (exponent == 0)
        return false;
      size += exponent;
    }
    sink_->Add(Decimal{text_.substr(0, size)});
    text_.remove_prefix(size);
    return true;
  }

  std::string_view text_;
  ValueSink* const sink_;
  const int max_depth_;
};

// Takes values, and does nothing with them.
class NoValues final : public ValueSink {
 public:
  void Begin(Container) override {}
  void End() override {}
  void Name(std::string_view, NameKind) override {}
  void Add(const Value&) override {}
};

}  // namespace

bool IsJson(std::string_view text) {
  NoValues values;
  return ReadJson(text, &values);
}

bool ReadJson(std::string_view text, ValueSink* sink, int max_depth) {
  return JsonReader(text, sink, max_depth).ReadAll();
}

}  // namespace program
