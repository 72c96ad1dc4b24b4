// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_TRACE_CHECK_H_
#define TEST_WORKLOADS_SKYNET_TRACE_CHECK_H_

#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "test/workloads/skynet_tree.h"

namespace protozero::workloads {

// The sums of the events of a trace of Skynet.
struct SkynetTraceSums {
  // The counts of all nodes.
  uint64_t begins = 0;
  uint64_t ends = 0;
  // The counts of the leaves, and the sum of their ordinals: the workload's own
  // answer.
  uint64_t leaf_begins = 0;
  uint64_t leaf_ends = 0;
  uint64_t leaf_begin_ordinals = 0;
  uint64_t leaf_end_ordinals = 0;
  // The number of nodes whose beginning and end were written by different
  // writers, which means by different threads.
  uint64_t moved = 0;
  // The number of events that no tracer could have written: of no node, of a
  // node that has begun or ended before, or with a name that no viewer could
  // know.
  uint64_t wrong = 0;

  // Returns an empty string if each node has begun once and ended once, and
  // nothing is wrong.
  std::string FindProblem(const SkynetTree& tree) const;
  // Returns it if |lost| events are missing.
  std::string FindProblem(const SkynetTree& tree, uint64_t lost) const;
};

// A check that reads the events of SkynetTracer.
class SkynetTraceCheck {
 public:
  // REQUIRES: |sums| outlives it.
  SkynetTraceCheck(const SkynetTree& tree, SkynetTraceSums* sums);

  // Takes the next TracePacket with a track_event. REQUIRES: the events of one
  // writer come in the order in which they were written.
  void OnEvent(ConstBytes packet);

 private:
  // The writers of a node's beginning and of its end, or 0 if there was none.
  struct Node {
    uint32_t begin_writer = 0;
    uint32_t end_writer = 0;
  };

  // Counts the event. Returns false if it is wrong.
  bool CountEvent(ConstBytes packet);

  const SkynetTree tree_;
  SkynetTraceSums* const sums_;
  // The index is the node's id.
  std::vector<Node> nodes_;
  // The key is the writer. True if a viewer knows the event's name.
  std::map<uint32_t, bool> knows_name_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TRACE_CHECK_H_
