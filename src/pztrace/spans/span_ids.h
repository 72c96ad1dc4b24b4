// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_IDS_H_
#define SRC_PZTRACE_SPANS_SPAN_IDS_H_

#include <stdint.h>

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/pztrace/events/otel_args.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// The ids of a span, as bytes. An empty parent is none.
struct SpanIdentity {
  std::string trace_id;
  std::string span_id;
  std::string parent_id;
};

// Returns the name of this machine, the host of traces that say no other.
std::string HostName();

// Ids that depend on the content of a trace and its host only. They are never
// 0, which is no id.
uint64_t SliceSpanNumber(const std::string& host, const Slice& slice);
uint64_t TaskSpanNumber(const std::string& host,
                        uint64_t process_track,
                        uint64_t task);
// Returns the bytes of the id of a span with that number.
std::string SpanIdOf(uint64_t number);
// Return the id of the trace of an outermost slice, and of a task that no other
// one has spawned, from the number of its span.
std::string SliceTraceId(const std::string& host,
                         uint64_t track,
                         uint64_t root_ns);
std::string TaskTraceId(const std::string& host, uint64_t root_number);

// The ids of all spans of a trace, from a first reading.
class SpanIds {
 public:
  explicit SpanIds(std::string host) : host_(std::move(host)) {}

  // The first reading.
  void AddSlice(const Slice& slice, const OtelArgs& otel);
  void AddTaskStep(const TaskStep& step) { tasks_.Add(step); }
  void Finish(uint64_t end_ns);

  // The ids of a slice or of a task. REQUIRES: Finish().
  SpanIdentity OfSlice(const Slice& slice) const {
    return OfKey(SliceKey(slice));
  }
  SpanIdentity OfTask(uint32_t task) const;
  // Returns, for each flow of a slice, the span before it in the flow.
  std::vector<SpanIdentity> LinksOf(const Slice& slice) const;

  const TaskTimeline& tasks() const { return tasks_; }

 private:
  // The parts that the ids of a slice are made of.
  struct SliceKey {
    explicit SliceKey(const Slice& slice)
        : number(slice.number),
          parent(slice.parent),
          track(slice.track),
          root_ns(slice.root_ns),
          depth(slice.depth) {}

    uint64_t number;
    uint64_t parent;
    uint64_t track;
    uint64_t root_ns;
    uint32_t depth;
  };
  struct FlowStep {
    uint64_t time_ns;
    SliceKey slice;
    bool ends_flow;
  };

  SpanIdentity OfKey(const SliceKey& key) const;

  // Returns the task that the thread runs then; kNoIndex for none.
  uint32_t TaskAt(uint64_t thread, uint64_t time_ns) const;
  uint32_t RootOf(uint32_t task) const;

  const std::string host_;
  TaskTimeline tasks_;
  std::unordered_map<uint64_t, uint32_t> threads_;  // By track.
  // By the slices' numbers; 0 if its end is lost.
  std::deque<uint64_t> span_ids_;
  // The ids that slices say themselves, by number.
  std::unordered_map<uint64_t, SpanIdentity> own_;
  // The trace ids of outermost slices that say theirs, by track and beginning.
  std::map<std::pair<uint64_t, uint64_t>, std::string> roots_;
  std::unordered_map<uint64_t, std::vector<FlowStep>> flows_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_IDS_H_
