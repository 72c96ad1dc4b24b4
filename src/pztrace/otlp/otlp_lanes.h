// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_LANES_H_
#define SRC_PZTRACE_OTLP_OTLP_LANES_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "src/pztrace/otlp/otlp_records.h"

namespace pztrace {

// The tracks of spans: on each of them, slices nest.
class OtlpLanes {
 public:
  struct Lane {
    uint32_t resource = 0;
    // The first of its spans, which says the thread if it is a thread's.
    uint32_t first = 0;
    bool is_thread = false;
  };
  // The beginning or the end of a span, or a moment in it.
  enum class Kind : uint8_t { kBegin, kEnd, kEvent };
  struct Step {
    uint64_t time;
    uint32_t lane;
    // The place among the steps of the lane: even for beginnings and ends.
    uint32_t place;
    uint32_t record;
    Kind kind;
  };

  explicit OtlpLanes(const OtlpRecords& records);

  const std::vector<Lane>& lanes() const { return lanes_; }
  // Returns the lane of a span. REQUIRES: it is no log.
  uint32_t LaneOf(size_t record) const { return places_[record].lane; }
  // Returns whether a span is on its parent's lane, within it.
  bool IsOnParent(size_t record) const { return places_[record].is_on_parent; }

  // Returns the beginnings and ends of all spans, in any order.
  std::vector<Step> Steps() const;
  // Returns a step within the span.
  Step EventOf(uint32_t record, uint64_t time) const;

 private:
  // The lane of a span, and the places of its beginning and end there.
  struct Place {
    uint32_t lane = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    bool is_on_parent = false;
  };
  struct OpenLane {
    std::vector<uint32_t> open;  // Each within the one before.
    uint32_t num_steps = 0;
  };
  class Placer;

  const OtlpRecords& records_;
  std::vector<Lane> lanes_;
  std::vector<Place> places_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_LANES_H_
