// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

size_t HashOf(std::string_view string) {
  return std::hash<std::string_view>()(string);
}

std::string_view CutText(std::string_view string) {
  if (string.size() <= EventText::kMaxTextSize)
    return string;
  size_t size = EventText::kMaxTextSize;
  // Bytes within a character.
  for (int i = 0; i < 3 && (string[size] & 0xc0) == 0x80; ++i)
    --size;
  return string.substr(0, size);
}

}  // namespace

StringId TextTable::Intern(std::string_view string) {
  string = CutText(string);
  if (4 * (strings_.size() + 1) > 3 * places_.size())
    Grow();
  const size_t mask = places_.size() - 1;
  size_t i = HashOf(string) & mask;
  for (; places_[i] != IdMap::kNone; i = (i + 1) & mask) {
    if (strings_[places_[i]] == string)
      return places_[i];
  }
  places_[i] = static_cast<StringId>(strings_.size());
  strings_.emplace_back(string);
  return places_[i];
}

TextId TextTable::TextOf(StringId category, StringId name) {
  const uint64_t key = uint64_t{category} << 32 | name;
  const auto next = static_cast<TextId>(texts_.size());
  const TextId id = text_ids_.Insert(key, next);
  if (id == next)
    texts_.push_back({strings_[category], strings_[name]});
  return id;
}

void TextTable::Grow() {
  const size_t num_places = places_.empty() ? 64 : 2 * places_.size();
  places_.assign(num_places, IdMap::kNone);
  for (size_t id = 0; id < strings_.size(); ++id) {
    size_t i = HashOf(strings_[id]) & (num_places - 1);
    while (places_[i] != IdMap::kNone)
      i = (i + 1) & (num_places - 1);
    places_[i] = static_cast<StringId>(id);
  }
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
