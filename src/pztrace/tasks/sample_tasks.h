// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_SAMPLE_TASKS_H_
#define SRC_PZTRACE_TASKS_SAMPLE_TASKS_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tasks/task_runs.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// Adds to the samples of stacks the task that the thread ran, as an async
// context. The recorder does not know it: it writes a sample before it gets the
// thread's events of that time.
class SampleTasks {
 public:
  SampleTasks();
  SampleTasks(const SampleTasks&) = delete;
  SampleTasks& operator=(const SampleTasks&) = delete;

  // Reads the tasks of a part of a trace: whole packets.
  void Read(protozero::ConstBytes packets) { tasks_reader_.Read(packets); }
  // Call it once, after the last part.
  void Finish();

  // Returns the packets with their tasks, valid until the next call. REQUIRES:
  // all parts of the trace come again, in their order, after Finish().
  std::string_view AddTo(protozero::ConstBytes packets);

  // Returns the number of samples that have got a task.
  uint64_t count() const { return count_; }

 private:
  // A sample that gets a task.
  struct Found {
    const uint8_t* message;  // The StackSample.
    uint32_t sequence;
    uint64_t num_clears;
    uint32_t pid;
    uint32_t tid;
    uint32_t task;
  };
  // The tasks that a sequence has described.
  struct Sequence {
    uint64_t num_clears = 0;
    std::unordered_set<uint32_t> tasks;
  };

  void FindTask(const protozero::KernelPacket& packet);
  void AppendSample(protozero::ConstBytes packet, const Found& found);
  void DescribeTask(const Found& found);

  TaskTimeline timeline_;
  TimelineReader tasks_reader_;
  std::optional<TaskRuns> runs_;
  protozero::TraceReader samples_reader_;
  protozero::ConstBytes packets_;  // Argument of AddTo().
  std::vector<Found> found_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::string output_;
  uint64_t count_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_SAMPLE_TASKS_H_
