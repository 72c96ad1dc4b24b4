// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_TRACE_WRITER_H_
#define EXAMPLES_NINJA_TRACE_TRACE_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <string>
#include <string_view>

#include "examples/ninja_trace/build_history.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace ninja_trace {

// Writes builds as a Perfetto trace:
//
//   out/release         one process, with a slice for each build
//   |- slot 1           a track for each step that runs at the same time,
//   |- slot 2           with a slice for each step
//   `- ...
//
// A trace is one message, and its packets are the elements of a repeated field.
// So it can be written piece by piece. Packets are added to a Trace in memory.
// When that has grown to kBatchSize, its bytes go to the file, and an empty
// Trace takes its place in the same memory. The file then holds serialized
// Traces one after the other, and that is a serialized Trace, too.
//
// Times are in nanoseconds. Errors are kept until Finish(); nothing more is
// written after the first one.
class TraceWriter {
 public:
  static constexpr size_t kBatchSize = 64 * 1024;

  // Writes to |file|. The viewer shows |process_name| for the whole trace.
  // REQUIRES: |file| stays open while the writer is in use.
  TraceWriter(FILE* file, std::string_view process_name);

  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Begins a build. |number| is 1 for the first one.
  void BeginBuild(size_t number, uint64_t time);
  void EndBuild(uint64_t time);

  // Begins a step in a slot. Slots are numbered from 0; the first step of a
  // slot may not come before the first step of a lower one. REQUIRES: |step|
  // has an output.
  void BeginStep(size_t slot, const BuildStep& step, uint64_t time);
  // Ends the step that began last in that slot.
  void EndStep(size_t slot, uint64_t time);

  // Writes the rest from memory. Returns false if there was any error since
  // construction; error() names it.
  bool Finish();

  const std::string& error() const { return error_; }
  uint64_t packet_count() const { return packet_count_; }

 private:
  void WriteProcessTrack(std::string_view process_name);
  void WriteSlotTrack(size_t slot);

  // Return a message that is valid until the next of these calls.
  protozero::trace::TracePacket* BeginPacket();
  protozero::trace::TrackEvent* BeginEvent(
      protozero::trace::TrackEvent_Type type,
      uint64_t track,
      uint64_t time);

  void WriteBatch();

  FILE* const file_;
  protozero::HeapBuffered<protozero::trace::Trace> batch_{kBatchSize,
                                                          kBatchSize};
  // The number of bytes that have left batch_.
  uint64_t batches_size_ = 0;
  size_t slot_tracks_ = 0;
  uint64_t packet_count_ = 0;
  std::string error_;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_TRACE_WRITER_H_
