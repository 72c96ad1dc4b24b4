// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_LIVE_SPAN_IDS_H_
#define SRC_PZTRACE_SPANS_LIVE_SPAN_IDS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/pztrace/events/otel_args.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/spans/live_tasks.h"
#include "src/pztrace/spans/span_ids.h"

namespace pztrace {

// The ids and links of a span.
struct LinkedSpan {
  SpanIdentity ids;
  std::vector<SpanIdentity> links;
};

// The ids of the slices of a trace that is being recorded, which are those that
// SpanIds finds in all of it. A slice has its ids one look after the one in
// which it was seen first, see LiveTasks.
//
// Its memory depends on the number of open slices. It remembers the last of the
// flows, kMaxFlows at least.
class LiveSpanIds {
 public:
  static constexpr size_t kMaxFlows = size_t{1} << 16;

  explicit LiveSpanIds(std::string host) : host_(std::move(host)) {}

  // Adds a slice that has not ended or has just ended. It may be known.
  void AddSlice(const Slice& slice, const OtelArgs& otel, bool has_ended);
  // Returns true if AddSlice() has had all slices up to that number.
  bool IsKnown(const Slice& slice) const { return slice.number < next_number_; }
  // Finds the ids of the slices that were added before the last call of this.
  void EndLook(const LiveTasks& tasks);
  // Ends a look: slices that are added after it belong to the next one.
  void BeginLook() { next_number_ = max_number_; }
  // Returns the ids of a slice that has ended, and forgets it. REQUIRES: its
  // ids were found.
  LinkedSpan Take(uint64_t number);
  // Forgets slices whose ends are lost: those that have not ended and are not
  // |open|.
  void KeepOpen(const std::unordered_set<uint64_t>& open);

 private:
  struct KnownSlice {
    uint64_t parent = UINT64_MAX;
    uint64_t track = 0;
    uint64_t begin_ns = 0;
    uint64_t root_ns = 0;
    uint64_t span = 0;
    bool is_found = false;
    bool has_own = false;
    bool has_ended = false;
    SpanIdentity ids;
    std::string root_trace_id;  // The trace of the outermost slice around it.
    std::vector<EventFlow> flows;
    std::vector<SpanIdentity> links;
  };
  struct FlowStep {
    uint64_t time_ns;
    SpanIdentity ids;
    bool ends_flow;
  };
  using Flows = std::unordered_map<uint64_t, std::vector<FlowStep>>;

  void FindIds(const LiveTasks& tasks, KnownSlice* slice);
  void AddFlowSteps(const KnownSlice& slice);
  std::vector<FlowStep>& StepsOf(uint64_t flow);
  void FindLinks(KnownSlice* slice);

  const std::string host_;
  std::unordered_map<uint64_t, KnownSlice> slices_;  // By number.
  uint64_t next_number_ = 0;
  uint64_t max_number_ = 0;
  // The slices of this look and of the one before, whose ids are not found.
  std::vector<uint64_t> new_;
  std::vector<uint64_t> waiting_;
  // The last flows, and those before them.
  Flows flows_;
  Flows old_flows_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_LIVE_SPAN_IDS_H_
