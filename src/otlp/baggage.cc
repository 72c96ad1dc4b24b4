// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/baggage.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "src/otlp/percent_decoding.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// A token of HTTP.
bool IsToken(std::string_view text) {
  for (const char c : text) {
    if (!IsLetterOrDigit(c) &&
        (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == nullptr)) {
      return false;
    }
  }
  return !text.empty();
}

// A character that stands for itself in a value, or begins an escape.
bool IsValueChar(char c) {
  return c > ' ' && c < '\x7f' && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool Decode(std::string_view text, std::string* value) {
  return std::all_of(text.begin(), text.end(), IsValueChar) &&
         internal::AppendPercentDecoded(text, value);
}

void Encode(std::string_view value, std::string* text) {
  for (const char c : value) {
    if (IsValueChar(c) && c != '%') {
      *text += c;
      continue;
    }
    const uint8_t byte = static_cast<uint8_t>(c);
    *text += '%';
    *text += "0123456789ABCDEF"[byte >> 4];
    *text += "0123456789ABCDEF"[byte & 15];
  }
}

std::string_view TrimMember(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Takes what is before the separator off |rest|.
std::string_view TakePart(std::string_view* rest, char separator) {
  const size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return TrimMember(part);
}

// Properties are key or key=value, with semicolons between them.
bool AreProperties(std::string_view rest) {
  while (!rest.empty()) {
    std::string_view property = TakePart(&rest, ';');
    const bool has_value = property.find('=') != std::string_view::npos;
    const std::string_view key = TakePart(&property, '=');
    std::string ignored;
    if (!IsToken(key) || (has_value && !Decode(TrimMember(property), &ignored)))
      return false;
  }
  return true;
}

}  // namespace

std::optional<Baggage> Baggage::Parse(std::string_view header) {
  if (header.size() > kMaxSize)
    return std::nullopt;
  Baggage baggage;
  size_t count = 0;
  while (!header.empty()) {
    std::string_view member = TakePart(&header, ',');
    if (member.empty())
      continue;
    std::string_view pair = TakePart(&member, ';');
    if (pair.find('=') == std::string_view::npos || ++count > kMaxEntries)
      return std::nullopt;
    const std::string_view key = TakePart(&pair, '=');
    Entry entry{std::string(key), {}, std::string(TrimMember(member))};
    if (!IsToken(key) || !Decode(TrimMember(pair), &entry.value) ||
        !AreProperties(entry.properties)) {
      return std::nullopt;
    }
    baggage.Remove(key);
    baggage.entries_.push_back(std::move(entry));
  }
  return baggage;
}

std::string Baggage::Text() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (!text.empty())
      text += ',';
    text += entry.key;
    text += '=';
    Encode(entry.value, &text);
    if (!entry.properties.empty()) {
      text += ';';
      text += entry.properties;
    }
  }
  return text;
}

std::optional<std::string_view> Baggage::Get(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key)
      return entry.value;
  }
  return std::nullopt;
}

bool Baggage::Set(std::string_view key,
                  std::string_view value,
                  std::string_view properties) {
  if (!IsToken(key) || !AreProperties(properties))
    return false;
  Baggage changed = *this;
  changed.Remove(key);
  changed.entries_.push_back(
      {std::string(key), std::string(value), std::string(properties)});
  if (changed.entries_.size() > kMaxEntries || changed.Text().size() > kMaxSize)
    return false;
  *this = std::move(changed);
  return true;
}

void Baggage::Remove(std::string_view key) {
  entries_.erase(
      std::remove_if(entries_.begin(), entries_.end(),
                     [key](const Entry& entry) { return entry.key == key; }),
      entries_.end());
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
