// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/task_texts.h"

#include "src/program/text.h"

namespace pztrace {

using protozero::TaskPlace;

namespace {

// The limit of a text. The reader cuts names of events at the same size.
constexpr size_t kMaxTextBytes = protozero::EventText::kMaxTextSize;

bool IsSame(const TaskPlace& a, const TaskPlace& b) {
  return a.line == b.line && a.name == b.name && a.file == b.file;
}

}  // namespace

uint32_t TaskPlaces::Add(const TaskPlace* place) {
  if (place == nullptr)
    return UINT32_MAX;
  const auto last = last_numbers_.find(place);
  if (last != last_numbers_.end() && IsSame(places_[last->second], *place))
    return last->second;
  const auto [entry, is_new] =
      numbers_.try_emplace(Key(place->name, place->file, place->line),
                           static_cast<uint32_t>(places_.size()));
  if (is_new)
    places_.push_back(*place);
  last_numbers_[place] = entry->second;
  return entry->second;
}

uint32_t TaskNames::Add(std::string_view text) {
  if (text.empty())
    return UINT32_MAX;
  text = program::CutAtCharacter(text, kMaxTextBytes);
  const auto found = numbers_.find(text);
  if (found != numbers_.end())
    return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

uint32_t TaskNames::Find(std::string_view text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? UINT32_MAX : found->second;
}

}  // namespace pztrace
