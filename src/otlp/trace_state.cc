// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <new>
#include <utility>

#include "protozero/otlp/trace_context.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

// A text that copies of a TraceState share, with its bytes after it.
struct SharedText {
  std::atomic<size_t> references{1};
  size_t size = 0;
  char* text() { return reinterpret_cast<char*>(this + 1); }
};

}  // namespace internal

namespace {

constexpr size_t kMaxEntries = 32;
constexpr size_t kMaxKeySize = 256;
constexpr size_t kMaxTenantSize = 241;
constexpr size_t kMaxSystemSize = 14;
constexpr size_t kMaxValueSize = 256;

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsKeyPart(std::string_view text,
               size_t max_size,
               bool may_begin_with_digit) {
  if (text.empty() || text.size() > max_size ||
      !(IsLower(text[0]) || (may_begin_with_digit && IsDigit(text[0])))) {
    return false;
  }
  for (const char c : text) {
    if (!IsLower(c) && !IsDigit(c) && c != '_' && c != '-' && c != '*' &&
        c != '/') {
      return false;
    }
  }
  return true;
}

// A key is a name, or tenant@system.
bool IsKey(std::string_view key) {
  const size_t at = key.find('@');
  if (at == std::string_view::npos)
    return IsKeyPart(key, kMaxKeySize, true);
  return IsKeyPart(key.substr(0, at), kMaxTenantSize, true) &&
         IsKeyPart(key.substr(at + 1), kMaxSystemSize, false);
}

bool IsValue(std::string_view value) {
  if (value.empty() || value.size() > kMaxValueSize || value.back() == ' ')
    return false;
  for (const char c : value) {
    if (c < ' ' || c > '~' || c == ',' || c == '=')
      return false;
  }
  return true;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Entry {
  std::string_view key;
  std::string_view value;
};

// Takes the first entry that is not empty off |rest|. Null at its end.
// |*is_valid| is false if it is malformed.
std::optional<Entry> NextEntry(std::string_view* rest, bool* is_valid) {
  while (!rest->empty()) {
    const size_t comma = rest->find(',');
    const std::string_view text = Trim(rest->substr(0, comma));
    rest->remove_prefix(comma == std::string_view::npos ? rest->size()
                                                        : comma + 1);
    if (text.empty())
      continue;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      *is_valid = false;
      return std::nullopt;
    }
    const Entry entry{text.substr(0, equals), text.substr(equals + 1)};
    *is_valid = IsKey(entry.key) && IsValue(entry.value);
    return entry;
  }
  return std::nullopt;
}

void Append(std::string* text, const Entry& entry) {
  if (!text->empty())
    *text += ',';
  text->append(entry.key);
  *text += '=';
  text->append(entry.value);
}

}  // namespace

TraceState TraceState::OfText(std::string_view text) {
  TraceState state;
  if (text.empty())
    return state;
  void* const memory = malloc(sizeof(internal::SharedText) + text.size());
  if (memory == nullptr)
    return state;
  state.text_ = new (memory) internal::SharedText;
  state.text_->size = text.size();
  memcpy(state.text_->text(), text.data(), text.size());
  return state;
}

void TraceState::Share() const {
  text_->references.fetch_add(1, std::memory_order_relaxed);
}

void TraceState::Release() noexcept {
  if (text_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    free(text_);
}

std::string_view TraceState::Text() const {
  return text_ == nullptr ? std::string_view()
                          : std::string_view(text_->text(), text_->size);
}

std::optional<TraceState> TraceState::Parse(std::string_view header) {
  std::string_view keys[kMaxEntries];
  size_t count = 0;
  std::string text;
  bool is_valid = true;
  while (const auto entry = NextEntry(&header, &is_valid)) {
    if (!is_valid || count == kMaxEntries)
      return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      if (keys[i] == entry->key)
        return std::nullopt;
    }
    keys[count++] = entry->key;
    Append(&text, *entry);
  }
  if (!is_valid)
    return std::nullopt;
  return OfText(text);
}

std::optional<std::string_view> TraceState::Get(std::string_view key) const {
  std::string_view rest = Text();
  bool is_valid = true;
  while (const auto entry = NextEntry(&rest, &is_valid)) {
    if (entry->key == key)
      return entry->value;
  }
  return std::nullopt;
}

std::optional<TraceState> TraceState::With(std::string_view key,
                                           std::string_view value) const {
  if (!IsKey(key) || !IsValue(value))
    return std::nullopt;
  std::string text;
  Append(&text, {key, value});
  std::string_view rest = Text();
  bool is_valid = true;
  size_t count = 1;
  while (const auto entry = NextEntry(&rest, &is_valid)) {
    if (entry->key != key && count++ < kMaxEntries)
      Append(&text, *entry);
  }
  return OfText(text);
}

TraceState TraceState::Without(std::string_view key) const {
  std::string text;
  std::string_view rest = Text();
  bool is_valid = true;
  while (const auto entry = NextEntry(&rest, &is_valid)) {
    if (entry->key != key)
      Append(&text, *entry);
  }
  return OfText(text);
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
