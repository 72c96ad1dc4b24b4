// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/arg_texts.h"

#include <utility>

#include "src/program/text.h"

namespace pztrace {

void ArgTexts::Append(std::string_view text, std::string* json) {
  if (text.size() <= kMaxShort)
    return program::AppendJsonString(text, json);
  text = program::CutAtCharacter(text, kMaxBytes);
  const auto [it, is_new] =
      ids_.emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (is_new)
    program::AppendJsonString(text, &texts_.emplace_back());
  *json += '"';
  *json += kMark;
  *json += std::to_string(it->second);
  *json += '"';
}

void ArgTexts::Resolve(std::string* json) const {
  std::string resolved;
  const size_t max_size = kMinTexts + kMaxGrowth * json->size();
  size_t begin = 0;
  for (size_t mark = json->find(kMark); mark != std::string::npos;
       mark = json->find(kMark, begin)) {
    size_t id = 0;
    size_t end = mark + 1;
    for (; (*json)[end] != '"'; ++end)
      id = 10 * id + static_cast<size_t>((*json)[end] - '0');
    // The quote in front of the mark is left out, because the text has its own.
    resolved.append(*json, begin, mark - 1 - begin);
    if (resolved.size() + texts_[id].size() <= max_size)
      resolved += texts_[id];
    else
      resolved += "\"...\"";
    begin = end + 1;
  }
  resolved.append(*json, begin);
  *json = std::move(resolved);
}

}  // namespace pztrace
