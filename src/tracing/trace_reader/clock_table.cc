// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/clock_table.h"

#include <algorithm>
#include <utility>

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

constexpr uint32_t kMinSequenceClock = 64;
constexpr uint32_t kMaxSequenceClock = 127;
// The most points of a sequence's clock, which gets one with each snapshot.
constexpr size_t kMaxSequencePoints = 64;
constexpr size_t kMaxUnrelated = 64;
// The most points to search if a clock was set back.
constexpr size_t kMaxSearched = 1000;

}  // namespace

void TraceClockState::AddPoint(Point point, bool is_of_sequence) {
  cached_size_ = 0;
  // An earlier snapshot may be related later; its point comes before others.
  auto next = points_.end();
  while (next != points_.begin() && (next - 1)->snapshot > point.snapshot)
    --next;
  if (next != points_.begin()) {
    const Point& last = *(next - 1);
    if (last.ns == point.ns && last.trace_ns == point.trace_ns)
      return;
    is_sorted_ = is_sorted_ && last.ns <= point.ns;
  }
  is_sorted_ = is_sorted_ && (next == points_.end() || point.ns <= next->ns);
  points_.insert(next, point);
  if (is_of_sequence && points_.size() > kMaxSequencePoints)
    points_.erase(points_.begin());
}

void TraceClockState::FindPoint(uint64_t ns) {
  cached_begin_ = 0;
  cached_size_ = UINT64_MAX;
  cached_offset_ = 0;
  if (points_.empty())
    return;
  size_t index = points_.size();
  if (is_sorted_) {
    const auto after = std::upper_bound(
        points_.begin(), points_.end(), ns,
        [](uint64_t time, const Point& point) { return time < point.ns; });
    index = static_cast<size_t>(after - points_.begin());
    if (after != points_.end())
      cached_size_ = after->ns;
  } else {
    // The clock was set back. The newest point that fits is used.
    const size_t end = index - std::min(index, kMaxSearched);
    while (index != end && points_[index - 1].ns > ns)
      cached_size_ = std::min(cached_size_, points_[--index].ns);
  }
  const Point& point = points_[index == 0 ? 0 : index - 1];
  cached_begin_ = point.ns <= ns ? point.ns : 0;
  cached_size_ -= cached_begin_;
  cached_offset_ = point.trace_ns - point.ns;
}

bool ClockTable::IsOfSequence(uint32_t clock) {
  return clock >= kMinSequenceClock && clock <= kMaxSequenceClock;
}

uint64_t ClockTable::KeyOf(uint32_t clock, uint32_t sequence) {
  return IsOfSequence(clock) ? uint64_t{sequence} << 32 | clock : clock;
}

std::optional<uint64_t> ClockTable::AddSnapshot(ConstBytes bytes,
                                                uint32_t sequence) {
  const trace::ClockSnapshot::Decoder decoder(bytes);
  ++generation_;
  const uint32_t primary = decoder.primary_trace_clock();
  if (primary != 0 && !has_primary_) {
    has_primary_ = true;
    if (primary != trace_clock_) {
      trace_clock_ = primary;
      for (auto& [key, clock] : clocks_) {
        clock.points_.clear();
        clock.cached_size_ = 0;
      }
    }
  }
  Snapshot snapshot;
  snapshot.number = generation_;
  for (const auto entry : decoder.clocks()) {
    const trace::ClockSnapshot::Clock::Decoder reading(entry);
    const uint32_t id = reading.clock_id();
    const uint64_t key = KeyOf(id, sequence);
    TraceClockState& clock = clocks_[key];
    clock.ticks_ = reading.timestamp();
    clock.ns_per_tick_ = std::max<uint64_t>(1, reading.unit_multiplier_ns());
    clock.is_incremental_ = reading.is_incremental();
    clock.cached_size_ = 0;
    snapshot.readings.push_back({key, clock.ticks_ * clock.ns_per_tick_});
  }
  const bool may_relate_others = std::any_of(
      snapshot.readings.begin(), snapshot.readings.end(),
      [this](const Reading& r) { return !clocks_[r.key].is_related(); });
  const std::optional<uint64_t> trace_ns = Relate(snapshot);
  if (!trace_ns) {
    if (unrelated_.size() < kMaxUnrelated && snapshot.readings.size() > 1)
      unrelated_.push_back(std::move(snapshot));
    return std::nullopt;
  }
  // This snapshot may relate earlier ones.
  for (bool has_found = may_relate_others; has_found;) {
    const size_t before = unrelated_.size();
    unrelated_.erase(std::remove_if(unrelated_.begin(), unrelated_.end(),
                                    [this](const Snapshot& other) {
                                      return Relate(other).has_value();
                                    }),
                     unrelated_.end());
    has_found = unrelated_.size() < before && !unrelated_.empty();
  }
  return trace_ns;
}

std::optional<uint64_t> ClockTable::Relate(const Snapshot& snapshot) {
  std::optional<uint64_t> trace_ns;
  for (const Reading& reading : snapshot.readings) {
    if (reading.key == trace_clock_)
      trace_ns = reading.ns;
  }
  // The snapshot is related by way of another clock.
  for (size_t i = 0; !trace_ns && i < snapshot.readings.size(); ++i) {
    const Reading& reading = snapshot.readings[i];
    TraceClockState& clock = clocks_[reading.key];
    if (!clock.is_related())
      continue;
    clock.FindPoint(reading.ns);
    trace_ns = TraceClockState::OffsetTime(reading.ns, clock.cached_offset_);
  }
  if (!trace_ns)
    return std::nullopt;
  has_trace_clock_ = true;
  for (const Reading& reading : snapshot.readings) {
    if (reading.key != trace_clock_) {
      clocks_[reading.key].AddPoint(
          {reading.ns, *trace_ns, snapshot.number},
          IsOfSequence(static_cast<uint32_t>(reading.key)));
    }
  }
  return trace_ns;
}

void ClockTable::AddAhead(ConstBytes bytes, uint32_t sequence) {
  if (ahead_ == nullptr)
    ahead_ = std::make_unique<ClockTable>();
  const trace::ClockSnapshot::Decoder decoder(bytes);
  // Only the first relation of each clock counts.
  bool is_new = decoder.primary_trace_clock() != 0 && !ahead_->has_primary_;
  for (const auto entry : decoder.clocks()) {
    const uint32_t id = trace::ClockSnapshot::Clock::Decoder(entry).clock_id();
    const TraceClockState* const clock = ahead_->Find(id, sequence);
    is_new |=
        clock == nullptr ? !ahead_->IsTraceClock(id) : !clock->is_related();
  }
  if (is_new)
    ahead_->AddSnapshot(bytes, sequence);
}

void ClockTable::RelateAhead() {
  if (ahead_ != nullptr)
    RelateAsIn(*std::exchange(ahead_, nullptr));
}

void ClockTable::RelateAsIn(const ClockTable& whole) {
  if (generation_ == 0)
    trace_clock_ = whole.trace_clock_;
  if (trace_clock_ != whole.trace_clock_)
    return;
  for (const auto& [key, clock] : whole.clocks_) {
    if (!clock.is_related())
      continue;
    const auto [own, is_new] = clocks_.try_emplace(key);
    if (is_new) {
      own->second.ns_per_tick_ = clock.ns_per_tick_;
      own->second.is_incremental_ = clock.is_incremental_;
    }
    if (own->second.is_related())
      continue;
    // The point stands before those of all snapshots.
    TraceClockState::Point first = clock.points_.front();
    first.snapshot = 0;
    own->second.points_ = {first};
    own->second.cached_size_ = 0;
    has_trace_clock_ = true;
  }
  ++generation_;
}

TraceClockState* ClockTable::FindRelated(uint32_t clock, uint32_t sequence) {
  TraceClockState* found = Find(clock, sequence);
  if ((found == nullptr || !found->is_related()) && read_ahead_) {
    std::exchange(read_ahead_, nullptr)();
    RelateAhead();
    found = Find(clock, sequence);
  }
  return found;
}

TraceClockState* ClockTable::Find(uint32_t clock, uint32_t sequence) {
  if (clock == 0 || clock == trace_clock_)
    return nullptr;
  const auto found = clocks_.find(KeyOf(clock, sequence));
  return found == clocks_.end() ? nullptr : &found->second;
}

std::optional<int64_t> ClockTable::RealtimeOf(uint64_t trace_ns) const {
  const auto found = clocks_.find(kRealtime);
  if (trace_clock_ == kRealtime)
    return static_cast<int64_t>(trace_ns);
  if (found == clocks_.end() || !found->second.is_related())
    return std::nullopt;
  const auto& points = found->second.points_;
  // Points are in order of the trace's clock, unless files were joined.
  auto after = std::upper_bound(
      points.begin(), points.end(), trace_ns,
      [](uint64_t time, const auto& point) { return time < point.trace_ns; });
  if (after != points.begin())
    --after;
  return static_cast<int64_t>(trace_ns + (after->ns - after->trace_ns));
}

std::optional<int64_t> ClockTable::realtime_offset_ns() const {
  if (trace_clock_ == kRealtime)
    return 0;
  const auto found = clocks_.find(kRealtime);
  if (found == clocks_.end() || !found->second.is_related())
    return std::nullopt;
  const auto& last = found->second.points_.back();
  return static_cast<int64_t>(last.ns - last.trace_ns);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
