// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/thread_packets.h"

#include <algorithm>
#include <utility>

#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using trace::TracePacket;

// The number of stacks that are remembered.
constexpr size_t kMaxStacks = 1 << 16;
// The ids of the quantities that are sampled.
constexpr uint64_t kClockId = 1;
constexpr uint64_t kWaitsId = 2;
constexpr uint64_t kFirstCounterId = 3;

void FillProcess(int32_t pid,
                 const ThreadStates::Process& process,
                 trace::GenericKernelProcessTree::Process* message) {
  message->set_pid(pid);
  message->set_ppid(process.parent != 0 ? process.parent : ParentOf(pid));
  const std::string words = CommandLineOf(pid);
  if (!words.empty())
    message->set_cmdline(words);
}

void FillThread(int32_t tid,
                const ThreadStates::Thread& thread,
                trace::GenericKernelProcessTree::Thread* message) {
  message->set_tid(tid);
  message->set_pid(thread.pid);
  if (!thread.name.empty())
    message->set_comm(thread.name);
  message->set_is_main_thread(tid == thread.pid);
}

}  // namespace

void ThreadPackets::Begin(TraceContext* context,
                          const ThreadStates& states,
                          const std::vector<KernelCounter>& counters) {
  context_ = context;
  states_ = &states;
  counters_ = counters;
}

ThreadPackets::Packet ThreadPackets::NewPacket(uint64_t time) {
  const TraceWriter& writer = context_->writer();
  const ChunkID chunk = writer.chunk_id() + (writer.continues_chunk() ? 0 : 1);
  const bool is_cleared = context_->TakeIncrementalStateCleared();
  if (is_cleared || chunk - first_chunk_ >= context_->MaxChunksOfSequence() ||
      loss_generation_ != writer.loss_generation() ||
      stacks_.size() >= kMaxStacks) {
    WriteBeginning(time);
  }
  Packet packet = context_->NewTracePacket<TracePacket>();
  packet->set_timestamp(time);
  return packet;
}

void ThreadPackets::WriteBeginning(uint64_t time) {
  stacks_.Clear();
  named_wakers_.clear();
  loss_generation_ = context_->writer().loss_generation();
  Packet packet = context_->NewTracePacket<TracePacket>();
  first_chunk_ = context_->writer().chunk_id();
  packet->set_timestamp(time);
  packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  if (sample_period_ != 0) {
    auto* const data = packet->set_interned_data();
    auto* const counter = data->add_stack_sample_counter_descriptors();
    counter->set_iid(kClockId);
    counter->set_name("cpu_clock");
    counter->set_unit(trace::StackSample::UNIT_NANOSECONDS);
    auto* const waits = data->add_stack_sample_counter_descriptors();
    waits->set_iid(kWaitsId);
    waits->set_name("context-switches");
    waits->set_unit(trace::StackSample::UNIT_COUNT);
    for (size_t i = 0; i < counters_.size(); ++i) {
      auto* const follower = data->add_stack_sample_counter_descriptors();
      follower->set_iid(kFirstCounterId + i);
      follower->set_name(counters_[i].name);
      follower->set_unit(counters_[i].unit);
    }
  }
  auto* const tree = packet->set_generic_kernel_process_tree();
  for (const auto& [pid, process] : states_->processes())
    FillProcess(pid, process, tree->add_processes());
  for (const auto& [tid, thread] : states_->threads())
    FillThread(tid, thread, tree->add_threads());
  if (namespace_ids_.empty())
    return;
  packet = context_->NewTracePacket<TracePacket>();
  packet->set_timestamp(time);
  auto* const inner = packet->set_process_tree();
  for (const auto& [tid, thread] : states_->threads())
    FillNamespaces(tid, thread.pid, inner);
}

void ThreadPackets::FillNamespaces(int32_t tid,
                                   int32_t pid,
                                   trace::ProcessTree* tree) const {
  const auto ids = namespace_ids_.find(tid);
  if (ids == namespace_ids_.end())
    return;
  if (tid == pid) {
    auto* const process = tree->add_processes();
    process->set_pid(pid);
    process->set_ppid(ParentOf(pid));
    process->add_cmdline(CommandLineOf(pid));
    for (const int32_t id : ids->second)
      process->add_nspid(id);
  }
  auto* const thread = tree->add_threads();
  thread->set_tid(tid);
  thread->set_tgid(pid);
  for (const int32_t id : ids->second)
    thread->add_nstid(id);
}

void ThreadPackets::WriteState(uint64_t time,
                               int32_t tid,
                               const ThreadStates::Thread& thread) {
  using Event = trace::GenericKernelTaskStateEvent;
  Packet packet = NewPacket(time);
  auto* const event = packet->set_generic_kernel_task_state_event();
  event->set_cpu(static_cast<int32_t>(thread.cpu));
  event->set_tid(tid);
  event->set_state(static_cast<Event::TaskStateEnum>(thread.state));
}

void ThreadPackets::WriteName(uint64_t time,
                              int32_t tid,
                              const std::string& name) {
  Packet packet = NewPacket(time);
  auto* const event = packet->set_generic_kernel_task_rename_event();
  event->set_tid(tid);
  event->set_comm(name);
}

void ThreadPackets::WriteThread(uint64_t time,
                                int32_t tid,
                                const ThreadStates::Thread& thread) {
  {
    Packet packet = NewPacket(time);
    FillThread(tid, thread,
               packet->set_generic_kernel_process_tree()->add_threads());
  }
  if (in_namespaces_.count(thread.pid) == 0)
    return;
  std::vector<int32_t> ids = NamespaceIdsOf(thread.pid, tid);
  if (ids.empty())
    return;
  namespace_ids_[tid] = std::move(ids);
  Packet packet = NewPacket(time);
  FillNamespaces(tid, thread.pid, packet->set_process_tree());
}

void ThreadPackets::WriteProcess(uint64_t time,
                                 int32_t pid,
                                 const ThreadStates::Process& process) {
  if (NamespaceIdsOf(pid, pid).empty())
    in_namespaces_.erase(pid);
  else
    in_namespaces_.insert(pid);
  Packet packet = NewPacket(time);
  FillProcess(pid, process,
              packet->set_generic_kernel_process_tree()->add_processes());
}

void ThreadPackets::AddLoss(uint64_t number) {
  // Each record would have been a packet. The memory that the kernel shares was
  // full.
  context_->writer().LosePackets(LossReason::kMemoryFull, number);
}

void ThreadPackets::WriteWaking(const KernelRecord& record,
                                const ThreadStates::Thread& thread) {
  if (record.tid > 0 && !states_->Contains(record.tid) &&
      named_wakers_.insert(record.tid).second) {
    ThreadStates::Thread waker;
    waker.pid = record.pid;
    waker.name = ThreadName(record.pid, record.tid);
    WriteThread(record.time, record.tid, waker);
  }
  Packet packet = NewPacket(record.time);
  auto* const bundle = packet->set_ftrace_events();
  bundle->set_cpu(record.cpu);
  auto* const event = bundle->add_event();
  event->set_timestamp(record.time);
  event->set_pid(static_cast<uint32_t>(record.tid));
  event->set_common_flags(record.common_flags);
  auto* const waking = event->set_sched_waking();
  waking->set_pid(record.subject_tid);
  waking->set_target_cpu(static_cast<int32_t>(thread.cpu));
}

void ThreadPackets::WriteSample(const CodeMaps& maps,
                                const KernelRecord& record) {
  WriteStack(maps, record, kClockId, record.num_periods * sample_period_);
}

void ThreadPackets::WriteWait(const CodeMaps& maps,
                              const KernelRecord& record) {
  WriteStack(maps, record, kWaitsId, 1);
}

void ThreadPackets::WriteStack(const CodeMaps& maps,
                               const KernelRecord& record,
                               uint64_t counter,
                               uint64_t weight) {
  Packet packet = NewPacket(record.time);
  packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  const uint64_t stack = stacks_.Intern(maps, record.pid, record.stack);
  const uint64_t task = stacks_.InternTask(record.pid, record.tid);
  const uint64_t execution =
      stacks_.InternExecution(record.cpu, record.is_in_kernel);
  if (stacks_.has_new())
    stacks_.WriteNew(packet->set_interned_data());
  auto* const sample = packet->set_stack_sample();
  sample->set_task_context_iid(task);
  sample->set_execution_context_iid(execution);
  sample->set_callstack_iid(stack);
  sample->set_primary_descriptor_iid(counter);
  sample->set_primary_weight(weight);
  if (!record.counters.empty())
    WriteCounters(record, sample);
}

void ThreadPackets::WriteCounters(const KernelRecord& record,
                                  trace::StackSample* sample) {
  std::vector<uint64_t>& last = counts_[{record.tid, record.cpu}];
  last.resize(record.counters.size());
  std::vector<uint64_t> ids;
  std::vector<uint64_t> increases;
  for (size_t i = 0; i < last.size(); ++i) {
    const uint64_t count = record.counters[i];
    ids.push_back(kFirstCounterId + i);
    increases.push_back(count - std::min(count, last[i]));
    last[i] = std::max(last[i], count);
  }
  sample->set_follower_descriptor_iids(ids.data(), ids.size());
  sample->set_follower_weights(increases.data(), increases.size());
}

void ThreadPackets::ForgetProcess(int32_t pid) {
  in_namespaces_.erase(pid);
}

void ThreadPackets::Forget(int32_t tid) {
  namespace_ids_.erase(tid);
  counts_.erase(counts_.lower_bound({tid, 0}),
                counts_.upper_bound({tid, UINT32_MAX}));
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
