// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/shared_rows.h"

#include <functional>
#include <iterator>
#include <limits>
#include <string>

namespace pztrace {

namespace {

using protozero::internal::IdMap;

constexpr uint64_t kTaken = std::numeric_limits<uint64_t>::max();

uint64_t Mixed(uint64_t a, uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9;
  return a ^ (a >> 31);
}

}  // namespace

bool SharesRows(const std::optional<TrackInfo>& info) {
  return info && !info->is_process && !info->is_thread && !info->is_counter &&
         info->merging != TrackInfo::Merging::kNone;
}

uint64_t GroupOf(uint64_t track,
                 const std::optional<TrackInfo>& info,
                 uint64_t parent) {
  if (!SharesRows(info))
    return Mixed(track, 1);
  const std::hash<std::string> hash;
  return info->merging == TrackInfo::Merging::kByKey
             ? Mixed(Mixed(parent, 2), hash(info->merge_key))
             : Mixed(parent, hash(info->name));
}

uint32_t RowPacker::AddGroup(uint64_t group) {
  const auto number_of = [this](uint32_t index) {
    return groups_[index].number;
  };
  const uint32_t known = indexes_.Find(group, number_of);
  if (known != IdMap::kNone)
    return known;
  groups_.push_back({group, 0});
  indexes_.Add(number_of);
  return static_cast<uint32_t>(groups_.size() - 1);
}

uint32_t RowPacker::RowOf(uint32_t group,
                          uint64_t track,
                          uint64_t root_ns,
                          uint64_t end_ns,
                          bool is_root) {
  uint32_t row;
  const auto taken = taken_.find({track, root_ns});
  if (taken != taken_.end()) {
    row = taken->second;
    if (is_root)
      taken_.erase(taken);
  } else {
    row = Take(group, root_ns);
    if (!is_root)
      taken_.emplace(std::pair(track, root_ns), row);
  }
  if (is_root && row == 0)
    groups_[group].first_row = end_ns;
  else if (is_root)
    more_[group].free.emplace(end_ns, row);
  return row;
}

// Takes the free row that has been free for the shortest time, or a new row.
uint32_t RowPacker::Take(uint32_t group, uint64_t root_ns) {
  uint64_t& first = groups_[group].first_row;
  const bool is_first_free = first != kTaken && first <= root_ns;
  const auto more = more_.find(group);
  if (more != more_.end()) {
    auto& free = more->second.free;
    auto place =
        free.upper_bound({root_ns, std::numeric_limits<uint32_t>::max()});
    if (place != free.begin() &&
        (!is_first_free || std::prev(place)->first > first)) {
      const uint32_t row = (--place)->second;
      free.erase(place);
      return row;
    }
  }
  if (!is_first_free)
    return more_[group].size++;
  first = kTaken;
  return 0;
}

}  // namespace pztrace
