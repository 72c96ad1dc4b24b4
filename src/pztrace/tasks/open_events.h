// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_OPEN_EVENTS_H_
#define SRC_PZTRACE_TASKS_OPEN_EVENTS_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// Finds the slices and tasks of a trace that have not ended: that is where the
// program was when it was killed.
class OpenEvents {
 public:
  OpenEvents() : reader_(MakeCallbacks()) {}

  // Reads a part of a trace: whole packets.
  void Read(protozero::ConstBytes packets) { reader_.Read(packets); }
  // Returns lines to print, after the last part. Call it once.
  std::vector<std::string> Finish();
  // Returns the time from the first event to the end, after Finish().
  uint64_t duration_ns() const { return reader_.end_ns() - reader_.first_ns(); }

 private:
  struct OpenSlice {
    uint64_t track;
    uint64_t begin_ns;
    // A text of the reader's: a copy for each slice would take much more memory
    // than the trace.
    const protozero::EventText* text;
  };

  TimelineReader::Callbacks MakeCallbacks();
  void AddSlices(std::vector<std::string>* lines);
  void AddTasks(std::vector<std::string>* lines);

  std::vector<OpenSlice> slices_;
  TaskTimeline tasks_;
  TimelineReader reader_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_OPEN_EVENTS_H_
