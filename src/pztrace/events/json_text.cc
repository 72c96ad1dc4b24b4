// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/json_text.h"

#include <math.h>
#include <stdint.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "src/program/text.h"

namespace pztrace {

namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Copies JSON from its text, value by value. It stops at a value that is not
// JSON.
class JsonCopier {
 public:
  JsonCopier(std::string_view text, std::string* json)
      : text_(text), json_(json) {}

  bool CopyAll() {
    if (!program::IsUtf8(text_) || !CopyValue(0))
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

  void Copy(size_t size) {
    json_->append(text_, 0, size);
    text_.remove_prefix(size);
  }

  // Copies |c| if it is next, after spaces.
  bool CopyIf(char c) {
    SkipSpaces();
    if (!StartsWith(c))
      return false;
    Copy(1);
    return true;
  }

  bool CopyValue(int depth) {
    SkipSpaces();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(0, word.size()) == word) {
        Copy(word.size());
        return true;
      }
    }
    if (StartsWith('"'))
      return CopyString();
    if (StartsWith('{') || StartsWith('['))
      return depth < kMaxJsonDepth && CopyList(depth + 1);
    return CopyNumber();
  }

  bool CopyList(int depth) {
    const bool is_object = text_[0] == '{';
    const char end = is_object ? '}' : ']';
    Copy(1);
    const size_t begin = json_->size();
    if (CopyIf(end))
      return true;
    do {
      if (is_object) {
        SkipSpaces();
        if (!StartsWith('"') || !CopyString() || !CopyIf(':'))
          return false;
      }
      if (!CopyValue(depth))
        return false;
    } while (CopyIf(','));
    if (is_object)
      RemoveRepeatedMembers(begin, json_);
    return CopyIf(end);
  }

  bool CopyString() {
    size_t i = 1;
    for (; i < text_.size() && text_[i] != '"'; ++i) {
      if (static_cast<unsigned char>(text_[i]) < ' ')
        return false;
      if (text_[i] != '\\')
        continue;
      ++i;
      const char c = i < text_.size() ? text_[i] : '\0';
      if (c == 'u') {
        const std::string_view digits = text_.substr(i + 1, 4);
        if (digits.size() != 4 ||
            !std::all_of(digits.begin(), digits.end(), IsHexDigit)) {
          return false;
        }
      } else if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) ==
                                  std::string_view::npos) {
        return false;
      }
    }
    if (i >= text_.size())
      return false;
    program::AppendShownJson(text_.substr(0, i + 1), json_);
    text_.remove_prefix(i + 1);
    return true;
  }

  size_t DigitsAt(size_t begin) const {
    size_t end = begin;
    while (end < text_.size() && IsDigit(text_[end]))
      ++end;
    return end - begin;
  }

  bool CopyNumber() {
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
    Copy(size);
    return true;
  }

  std::string_view text_;
  std::string* const json_;
};

// Returns the size of the string at the front of |json|, with its quotes.
size_t SizeOfString(std::string_view json) {
  size_t i = 1;
  while (json[i] != '"')
    i += json[i] == '\\' ? 2 : 1;
  return i + 1;
}

// Removes the four hexadecimal digits that |json| begins with.
uint32_t TakeHexDigits(std::string_view* json) {
  uint32_t value = 0;
  const size_t size = std::min<size_t>(json->size(), 4);
  std::from_chars(json->data(), json->data() + size, value, 16);
  json->remove_prefix(size);
  return value;
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

// Removes the digits of an escape, and appends its character.
void TakeUnicodeEscape(std::string_view* json, std::string* text) {
  uint32_t code_point = TakeHexDigits(json);
  if (code_point >= 0xd800 && code_point < 0xdc00 &&
      json->substr(0, 2) == "\\u") {
    std::string_view rest = json->substr(2);
    const uint32_t low = TakeHexDigits(&rest);
    if (low >= 0xdc00 && low < 0xe000) {
      code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
      *json = rest;
    }
  }
  if (code_point >= 0xd800 && code_point < 0xe000)
    code_point = 0xfffd;
  AppendCodePoint(code_point, text);
}

struct Member {
  std::string_view name;  // The name in the text, with its quotes.
  std::string_view text;
  bool is_repeated = false;
};

// Removes the first member of |*json|, and the comma after it, and returns it.
Member TakeMember(std::string_view* json) {
  Member member;
  size_t end = SizeOfString(*json);
  member.name = json->substr(0, end);
  int depth = 0;
  while (end < json->size() && (depth != 0 || (*json)[end] != ',')) {
    const char c = (*json)[end];
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    end += c == '"' ? SizeOfString(json->substr(end)) : 1;
  }
  member.text = json->substr(0, end);
  json->remove_prefix(std::min(end + 1, json->size()));
  return member;
}

void MarkRepeated(std::vector<Member>* members) {
  std::vector<Member*> sorted;
  for (Member& member : *members)
    sorted.push_back(&member);
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const Member* a, const Member* b) { return a->name < b->name; });
  for (size_t i = 1; i < sorted.size(); ++i)
    sorted[i - 1]->is_repeated = sorted[i - 1]->name == sorted[i]->name;
}

}  // namespace

bool AppendJsonText(std::string_view text, std::string* json) {
  const size_t begin = json->size();
  if (JsonCopier(text, json).CopyAll())
    return true;
  json->resize(begin);
  return false;
}

void AppendJsonDouble(double value, std::string* json) {
  if (isfinite(value))
    return program::AppendDouble(value, json);
  *json += '"';
  *json += program::NonFiniteName(value);
  *json += '"';
}

std::string TakeJsonString(std::string_view* json) {
  std::string text;
  if (json->empty() || json->front() != '"')
    return text;
  json->remove_prefix(1);
  while (!json->empty()) {
    const size_t plain = std::min(json->find_first_of("\"\\"), json->size());
    text.append(*json, 0, plain);
    json->remove_prefix(plain);
    if (json->empty())
      break;
    const bool is_end = json->front() == '"';
    json->remove_prefix(1);
    if (is_end || json->empty())
      break;
    const char escape = json->front();
    json->remove_prefix(1);
    constexpr std::string_view kEscapes = "bfnrt";
    const size_t known = kEscapes.find(escape);
    if (escape == 'u')
      TakeUnicodeEscape(json, &text);
    else
      text += known == std::string_view::npos ? escape : "\b\f\n\r\t"[known];
  }
  return text;
}

bool MayRepeatMembers(std::string_view members) {
  constexpr size_t kMaxNames = 16;
  std::string_view names[kMaxNames];
  for (size_t count = 0; !members.empty(); ++count) {
    const std::string_view name = TakeMember(&members).name;
    if (count == kMaxNames ||
        std::find(names, names + count, name) != names + count) {
      return true;
    }
    names[count] = name;
  }
  return false;
}

void RemoveRepeatedMembers(size_t begin, std::string* json) {
  std::string_view left = std::string_view(*json).substr(begin);
  if (!MayRepeatMembers(left))
    return;
  std::vector<Member> members;
  while (!left.empty())
    members.push_back(TakeMember(&left));
  MarkRepeated(&members);
  std::string kept;
  for (const Member& member : members) {
    if (member.is_repeated)
      continue;
    if (!kept.empty())
      kept += ',';
    kept += member.text;
  }
  json->replace(begin, std::string::npos, kept);
}

}  // namespace pztrace
