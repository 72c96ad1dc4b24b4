// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

std::string_view CutText(std::string_view text) {
  if (text.size() <= EventText::kMaxTextSize)
    return text;
  size_t size = EventText::kMaxTextSize;
  // The cut must not be within a character.
  for (int i = 0; i < 3 && (text[size] & 0xc0) == 0x80; ++i)
    --size;
  return text.substr(0, size);
}

StringId TextTable::Intern(std::string_view string) {
  string = CutText(string);
  if (4 * (strings_.size() + 1) > 3 * places_.size())
    Grow();
  const size_t mask = places_.size() - 1;
  const auto hash =
      static_cast<uint32_t>(std::hash<std::string_view>()(string));
  size_t i = hash & mask;
  for (; places_[i].id != IdMap::kNone; i = (i + 1) & mask) {
    if (places_[i].hash == hash && strings_[places_[i].id] == string)
      return places_[i].id;
  }
  places_[i] = {hash, static_cast<StringId>(strings_.size())};
  strings_.emplace_back(string);
  return places_[i].id;
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
  std::vector<Place> places(num_places, Place{0, IdMap::kNone});
  for (const Place& place : places_) {
    if (place.id == IdMap::kNone)
      continue;
    size_t i = place.hash & (num_places - 1);
    while (places[i].id != IdMap::kNone)
      i = (i + 1) & (num_places - 1);
    places[i] = place;
  }
  places_.swap(places);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
