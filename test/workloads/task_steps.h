// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_TASK_STEPS_H_
#define TEST_WORKLOADS_TASK_STEPS_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>

#include "protozero/const_bytes.h"

// The steps of tasks of a workload: what they cost, and what the trace says.

namespace protozero::workloads {

// A step as the trace has it. The number of a task is that in the trace.
struct TaskStep {
  enum Kind { kWrong, kSpawn, kSwitch, kGoesOn, kWake, kEnd };
  Kind kind = kWrong;
  // The task that is spawned, switched to, woken, or ended; 0 for none.
  uint64_t task = 0;
  // The name of the site where |task| was spawned, for kSpawn and kSwitch.
  std::string site;
  // The parent of a spawned task, or the task that the thread ran before, and
  // in that case its site.
  uint64_t other = 0;
  std::string other_site;
  // True if |other| has ended by this switch.
  bool has_result = false;
  // True if the packet also says which task |task| is, or a site.
  bool has_new_ids = false;
  // The size in shared memory.
  size_t bytes = 0;
};

// A reader of the packets of one trace, which knows of other packets nothing.
class TaskStepReader {
 public:
  // Reads the next TracePacket with a track_event. REQUIRES: the packets of one
  // writer come in the order in which they were written.
  TaskStep Read(ConstBytes packet);

 private:
  struct Run {
    uint64_t task = 0;
    uint64_t site_iid = 0;
  };
  // The state of a writer that a viewer knows.
  struct Sequence {
    std::map<uint64_t, Run> runs;
    std::map<uint64_t, std::string> sites;
    uint64_t running = 0;
    std::string running_site;
  };
  std::map<uint32_t, Sequence> sequences_;
};

// The sums of the switches of a trace.
struct TaskSwitchSums {
  uint64_t switches = 0;
  // The switches that have nothing but a task and a time, and their size.
  uint64_t short_switches = 0;
  uint64_t short_bytes = 0;
  uint64_t wrong = 0;

  // Counts a step. |site| is the name of the site of all tasks.
  void Count(const TaskStep& step, const char* site);
  // Returns 0 if there are none.
  double bytes_per_switch() const {
    return short_switches == 0 ? 0
                               : static_cast<double>(short_bytes) /
                                     static_cast<double>(short_switches);
  }
  // Returns an empty string if there are as many switches as were made, each
  // to another task, and none takes more than 12 bytes in the mean.
  std::string FindProblem(uint64_t expected) const;
};

// The site of the tasks of MeasureTaskSwitch().
inline constexpr char kLoopSite[] = "loop";
// Returns the nanoseconds of processor time of a switch between two tasks, in
// |num_threads| threads that do nothing else: the median of a few batches, and
// the mean of the threads.
double MeasureTaskSwitch(uint32_t num_threads);

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_TASK_STEPS_H_
