// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_lanes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

namespace pztrace {

// Places the spans in order of their beginnings.
class OtlpLanes::Placer {
 public:
  explicit Placer(OtlpLanes* lanes)
      : lanes_(*lanes),
        all_(lanes->records_),
        records_(lanes->records_.records()) {}

  void Place(uint32_t index) {
    const OtlpRecord& record = records_[index];
    const OtlpPlace& place = all_.PlaceOf(record);
    if (place.has_thread) {
      const auto [found, is_new] = threads_.emplace(
          std::make_pair(all_.ResourceOf(record), place.thread),
          static_cast<uint32_t>(open_.size()));
      if (is_new)
        AddLane(index, true);
      if (TryThread(index, found->second))
        return;
    } else if (TryParent(index)) {
      return;
    }
    const uint32_t lane = FreeLane(index);
    Begin(index, lane, false);
    occupied_[{all_.ResourceOf(record), place.track}].emplace(record.end, lane);
  }

  void EndAll() {
    for (uint32_t lane = 0; lane < open_.size(); ++lane) {
      while (!open_[lane].open.empty())
        EndLast(lane);
    }
  }

 private:
  // Ends, of a lane, what has ended before |time|.
  void EndUntil(uint32_t lane, uint64_t time, uint32_t but_not) {
    std::vector<uint32_t>& open = open_[lane].open;
    while (!open.empty() && open.back() != but_not &&
           records_[open.back()].end <= time)
      EndLast(lane);
  }
  void EndLast(uint32_t lane) {
    lanes_.places_[open_[lane].open.back()].end = open_[lane].num_steps++;
    open_[lane].open.pop_back();
  }

  void Begin(uint32_t index, uint32_t lane, bool is_on_parent) {
    lanes_.places_[index] = {lane, open_[lane].num_steps++, 0, is_on_parent};
    open_[lane].open.push_back(index);
    is_placed_[index] = true;
  }

  uint32_t AddLane(uint32_t index, bool is_thread) {
    lanes_.lanes_.push_back(
        {all_.ResourceOf(records_[index]), index, is_thread});
    open_.emplace_back();
    return static_cast<uint32_t>(open_.size() - 1);
  }

  bool TryThread(uint32_t index, uint32_t lane) {
    const OtlpRecord& record = records_[index];
    EndUntil(lane, record.start, record.parent);
    const std::vector<uint32_t>& open = open_[lane].open;
    if (!open.empty() && records_[open.back()].end < record.end)
      return false;
    Begin(index, lane, !open.empty() && open.back() == record.parent);
    return true;
  }

  bool TryParent(uint32_t index) {
    const OtlpRecord& record = records_[index];
    const uint32_t parent = record.parent;
    // The parent may begin later, by another clock; then it has no lane yet.
    if (parent == OtlpRecord::kNone || !is_placed_[parent] ||
        all_.ResourceOf(records_[parent]) != all_.ResourceOf(record) ||
        all_.PlaceOf(records_[parent]).track != all_.PlaceOf(record).track ||
        records_[parent].end < record.end)
      return false;
    const uint32_t lane = lanes_.LaneOf(parent);
    EndUntil(lane, record.start, parent);
    const std::vector<uint32_t>& open = open_[lane].open;
    if (open.empty() || open.back() != parent)
      return false;
    Begin(index, lane, true);
    return true;
  }

  // Returns a lane without open spans.
  uint32_t FreeLane(uint32_t index) {
    const OtlpRecord& record = records_[index];
    Occupied& occupied =
        occupied_[{all_.ResourceOf(record), all_.PlaceOf(record).track}];
    if (occupied.empty() || occupied.top().first > record.start)
      return AddLane(index, false);
    const uint32_t lane = occupied.top().second;
    occupied.pop();
    // All that is open there is within the span that has ended.
    while (!open_[lane].open.empty())
      EndLast(lane);
    return lane;
  }

  // Lanes by the end of their outermost span.
  using Entry = std::pair<uint64_t, uint32_t>;
  using Occupied =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  OtlpLanes& lanes_;
  const OtlpRecords& all_;
  const std::vector<OtlpRecord>& records_;
  std::vector<OpenLane> open_;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> threads_;
  std::map<std::pair<uint32_t, std::string_view>, Occupied> occupied_;
  std::vector<bool> is_placed_ = std::vector<bool>(records_.size());
};

OtlpLanes::OtlpLanes(const OtlpRecords& records)
    : records_(records), places_(records.records().size()) {
  const std::vector<OtlpRecord>& all = records.records();
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_log)
      order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(all[a].start, ~all[a].end, all[a].depth) <
           std::make_tuple(all[b].start, ~all[b].end, all[b].depth);
  });
  Placer placer(this);
  for (const uint32_t index : order)
    placer.Place(index);
  placer.EndAll();
}

OtlpLanes::Step OtlpLanes::EventOf(uint32_t record, uint64_t time) const {
  const Place& place = places_[record];
  // At the moment of an end, it comes before that.
  const bool is_at_end = time >= records_.records()[record].end;
  return {time, place.lane, is_at_end ? 2 * place.end - 1 : 2 * place.begin + 1,
          record, Kind::kEvent};
}

std::vector<OtlpLanes::Step> OtlpLanes::Steps() const {
  const std::vector<OtlpRecord>& all = records_.records();
  std::vector<Step> steps;
  steps.reserve(2 * all.size());
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].is_log)
      continue;
    const Place& place = places_[i];
    steps.push_back(
        {all[i].start, place.lane, 2 * place.begin, i, Kind::kBegin});
    steps.push_back({all[i].end, place.lane, 2 * place.end, i, Kind::kEnd});
  }
  return steps;
}

}  // namespace pztrace
