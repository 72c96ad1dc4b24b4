// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A recorded trace, taken apart to be written again: for each packet, the
// values that the program had that wrote it, in no library's types.

#ifndef TEST_BENCHMARKS_TRACE_CORPUS_H_
#define TEST_BENCHMARKS_TRACE_CORPUS_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "test/benchmarks/input_cycle.h"

namespace protozero {
namespace bench {

// A string. A zero follows it and is not part of it.
struct TraceString {
  const char* data;
  size_t size;
};

struct TraceName {
  uint64_t iid;
  TraceString name;
};

struct TraceAnnotation {
  enum class Kind { kPointer, kInt, kStrings };

  uint64_t name_iid;
  Kind kind;
  uint64_t value;
  std::vector<TraceString> strings;
};

// One packet of examples/ninja_trace. Each kind sets its fields and no others.
struct TracePacketInput {
  enum class Kind { kStrings, kTrack, kSliceBegin, kSliceEnd };

  Kind kind;
  uint32_t sequence_id;
  uint32_t sequence_flags;  // not of kTrack
  uint64_t track_uuid;

  // The fields of slices.
  uint64_t timestamp;
  uint64_t category_iid;
  TraceString name;  // of kTrack, too
  std::vector<TraceAnnotation> annotations;

  // The fields of kTrack.
  uint64_t parent_uuid;
  int32_t sibling_order_rank;

  // The fields of kStrings, which also introduces the process.
  std::vector<TraceName> categories;
  std::vector<TraceName> annotation_names;
  int child_ordering;
  int32_t pid;
  TraceString process_name;
};

struct TraceCorpus {
  std::vector<TracePacketInput> packets;
  std::shared_ptr<const void> storage;  // of the strings
  size_t bytes;
  size_t largest_packet;
};

// Takes a trace apart. `trace` is a file of examples/ninja_trace. For any other
// file, returns null and sets the error: a packet that could not be written
// again unchanged is an error.
std::shared_ptr<const TraceCorpus> ParseTrace(const std::string& trace,
                                              std::string* error);

// Returns the packets in order, with the whole corpus repeated.
std::unique_ptr<InputCycle<TracePacketInput>> MakeTracePackets(
    const std::shared_ptr<const TraceCorpus>& corpus);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_TRACE_CORPUS_H_
