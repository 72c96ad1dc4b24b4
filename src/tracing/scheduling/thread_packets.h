// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_THREAD_PACKETS_H_
#define SRC_TRACING_SCHEDULING_THREAD_PACKETS_H_

#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/scheduling/code_maps.h"
#include "src/tracing/scheduling/kernel_counter.h"
#include "src/tracing/scheduling/kernel_record.h"
#include "src/tracing/scheduling/stack_table.h"
#include "src/tracing/scheduling/thread_states.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Writes what is found out about threads as packets of one sequence, in order
// of time: their states, names and stacks.
class ThreadPackets final {
 public:
  // Writes samples that stand for |sample_period| nanoseconds each.
  explicit ThreadPackets(uint64_t sample_period)
      : sample_period_(sample_period) {}

  // Writes with |context| from now on, the threads that |states| has, and the
  // |counters| of samples.
  void Begin(TraceContext* context,
             const ThreadStates& states,
             const std::vector<KernelCounter>& counters);

  void WriteState(uint64_t time,
                  int32_t tid,
                  const ThreadStates::Thread& thread);
  // Writes who woke a thread.
  void WriteWaking(const KernelRecord& record,
                   const ThreadStates::Thread& thread);
  void WriteName(uint64_t time, int32_t tid, const std::string& name);
  void WriteThread(uint64_t time,
                   int32_t tid,
                   const ThreadStates::Thread& thread);
  void WriteProcess(uint64_t time,
                    int32_t pid,
                    const ThreadStates::Process& process);
  // Counts records that the kernel could not write.
  void AddLoss(uint64_t number);
  void WriteSample(const CodeMaps& maps, const KernelRecord& record);
  // Writes the stack with which the thread of |record| begins to wait.
  void WriteWait(const CodeMaps& maps, const KernelRecord& record);
  // Forgets a thread that has ended.
  void Forget(int32_t tid);
  void ForgetProcess(int32_t pid);

  const StackTable& stacks() const { return stacks_; }

 private:
  using Packet = MessageHandle<trace::TracePacket>;

  // Begins a packet, before which it repeats what the trace may have forgotten.
  Packet NewPacket(uint64_t time);
  void WriteBeginning(uint64_t time);
  // Adds a thread whose program is in a PID namespace and calls it otherwise.
  void FillNamespaces(int32_t tid, int32_t pid, trace::ProcessTree* tree) const;
  void WriteCounters(const KernelRecord& record, trace::StackSample* sample);
  void WriteStack(const CodeMaps& maps,
                  const KernelRecord& record,
                  uint64_t counter,
                  uint64_t weight);

  const uint64_t sample_period_;
  TraceContext* context_ = nullptr;
  const ThreadStates* states_ = nullptr;
  StackTable stacks_;
  std::vector<KernelCounter> counters_;
  // The last counts of each thread on each processor.
  std::map<std::pair<int32_t, uint32_t>, std::vector<uint64_t>> counts_;
  // The threads that are not recorded, and whose names the trace has, since
  // they have woken recorded ones.
  std::set<int32_t> named_wakers_;
  // The processes in PID namespaces, and the ids of their threads there.
  std::set<int32_t> in_namespaces_;
  std::map<int32_t, std::vector<int32_t>> namespace_ids_;
  ChunkID first_chunk_ = 0;
  uint32_t loss_generation_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_THREAD_PACKETS_H_
