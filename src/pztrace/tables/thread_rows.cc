// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/thread_rows.h"

#include <stddef.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "src/program/text.h"

namespace pztrace {

namespace {

using table::RowWriter;
using PartState = ThreadStateTable::State;

// Returns the text of Perfetto's thread_state; empty for an unknown state.
std::string_view KernelStateText(PartState state) {
  switch (state) {
    case PartState::kCreated:
      return "Created";
    case PartState::kWoken:
      return "R";
    case PartState::kPreempted:
      return "R+";
    case PartState::kRunning:
      return "Running";
    case PartState::kSleeping:
      return "S";
    case PartState::kBlocked:
      return "D";
    case PartState::kStopped:
      return "T";
    case PartState::kDead:
      return "Z";
    case PartState::kDestroyed:
      return "X";
    case PartState::kUnknown:
      break;
  }
  return "";
}

std::optional<uint32_t> KnownNumber(uint32_t number, uint32_t none) {
  return number == none ? std::nullopt : std::optional(number);
}

std::string_view ModeText(uint32_t mode) {
  constexpr std::string_view kModes[] = {
      "", "user", "kernel", "hypervisor", "guest_user", "guest_kernel"};
  return mode < std::size(kModes) ? kModes[mode] : "";
}

}  // namespace

std::vector<TableInfo> ThreadTables() {
  return {{"sched_slice", "time in which a thread ran",
           Joined({InfosOf<ThreadPartRow>(kSchedSliceTable),
                   {RepeatedColumn("ucpu", "cpu"),
                    RepeatedColumn("priority", "NULL", "always null")}})},
          {"thread_state", "time of a thread in one state",
           Joined({InfosOf<ThreadPartRow>(kThreadStateTable),
                   {RepeatedColumn("ucpu", "cpu"),
                    RepeatedColumn("io_wait", "NULL", "always null"),
                    RepeatedColumn("blocked_function", "NULL", "always null",
                                   ValueType::kText)}})},
          {"stack_sample", "sample of a stack",
           Joined({InfosOf<StackSampleRow>(kStackSampleTable),
                   {RepeatedColumn("ucpu", "cpu")}})},
          {"stack_profile_callsite", "function in a stack",
           InfosOf<CallsiteRow>(kCallsiteTable)},
          {"stack_profile_frame", "place in a function",
           InfosOf<FrameRow>(kFrameTable)},
          {"stack_profile_mapping", "file that a process has mapped",
           InfosOf<MappingRow>(kMappingTable)}};
}

ThreadRows::ThreadRows(const ThreadTimes& times,
                       UtidOf utid_of,
                       TimeOf time_of,
                       TaskOf task_of)
    : times_(times),
      utid_of_(std::move(utid_of)),
      time_of_(std::move(time_of)),
      task_of_(std::move(task_of)) {}

void ThreadRows::Write(const Insert& insert) const {
  const auto make = [&insert](const char* table, const auto& columns) {
    return insert(table, std::tuple_size_v<std::decay_t<decltype(columns)>>);
  };
  WriteParts(make("sched_slice", kSchedSliceTable).get(),
             make("thread_state", kThreadStateTable).get());
  WriteSamples(make("stack_sample", kStackSampleTable).get());
  WriteStacks(make("stack_profile_callsite", kCallsiteTable).get(),
              make("stack_profile_frame", kFrameTable).get(),
              make("stack_profile_mapping", kMappingTable).get());
}

void ThreadRows::WriteParts(RowWriter* runs, RowWriter* states) const {
  const ThreadStateTable& all = times_.states();
  int64_t num_runs = 0;
  int64_t num_states = 0;
  for (uint32_t thread = 0; thread < all.num_threads(); ++thread) {
    const size_t num_parts = all.num_parts(thread);
    const uint32_t utid =
        utid_of_(all.pid(thread), all.tid(thread), all.name(thread));
    for (size_t i = 0; i < num_parts; ++i) {
      const ThreadStateTable::Part part = all.PartOf(thread, i);
      const bool is_last = i + 1 == num_parts;
      if (part.state == PartState::kUnknown)
        continue;
      const bool is_running = part.state == PartState::kRunning;
      ThreadPartRow row{{num_states++},
                        part.begin_ns,
                        time_of_(part.begin_ns),
                        is_last ? -1 : static_cast<int64_t>(part.dur_ns()),
                        {},
                        utid,
                        KernelStateText(part.state),
                        {},
                        {}};
      if (const ThreadStateTable::Waking* const waking =
              all.WakingOf(thread, i)) {
        row.irq_context = waking->is_in_interrupt;
        const uint32_t waker = all.FindTid(waking->tid);
        if (waker != ThreadStateTable::kNone && waking->tid != 0)
          row.waker_utid =
              utid_of_(all.pid(waker), all.tid(waker), all.name(waker));
      }
      if (is_running)
        row.cpu = KnownNumber(part.cpu, ThreadStateTable::kNoCpu);
      WriteRow(kThreadStateTable, row, states);
      if (!is_running)
        continue;
      row.id = {num_runs++};
      row.state =
          is_last
              ? TextCell()
              : TextOrNull(KernelStateText(all.PartOf(thread, i + 1).state));
      WriteRow(kSchedSliceTable, row, runs);
    }
  }
}

void ThreadRows::WriteSamples(RowWriter* rows) const {
  int64_t id = 0;
  for (const StackSamples::Sample& sample : times_.samples().samples()) {
    WriteRow(kStackSampleTable,
             StackSampleRow{{id++},
                            sample.time_ns,
                            time_of_(sample.time_ns),
                            sample.tid == 0 ? std::nullopt
                                            : std::optional(utid_of_(
                                                  sample.pid, sample.tid, "")),
                            KnownNumber(sample.cpu, StackSamples::kNone),
                            TextOrNull(ModeText(sample.mode)),
                            KnownNumber(sample.callsite, StackSamples::kNone),
                            sample.weight,
                            TextOrNull(times_.samples().CounterOf(sample).name),
                            TextOrNull(sample.has_error ? "not whole" : ""),
                            task_of_(sample.pid, sample.tid, sample.time_ns)},
             rows);
  }
}

void ThreadRows::WriteStacks(RowWriter* callsites,
                             RowWriter* frames,
                             RowWriter* mappings) const {
  const StackSamples& samples = times_.samples();
  int64_t id = 0;
  for (const StackSamples::Callsite& callsite : samples.callsites()) {
    WriteRow(kCallsiteTable,
             CallsiteRow{{id++},
                         callsite.depth,
                         KnownNumber(callsite.parent, StackSamples::kNone),
                         callsite.frame},
             callsites);
  }
  id = 0;
  for (const StackSamples::Frame& frame : samples.frames()) {
    WriteRow(kFrameTable,
             FrameRow{{id++},
                      TextOrNull(frame.name),
                      KnownNumber(frame.mapping, StackSamples::kNone),
                      frame.rel_pc,
                      TextOrNull(frame.source),
                      NumberOrNull(frame.line)},
             frames);
  }
  id = 0;
  for (const StackSamples::Mapping& mapping : samples.mappings()) {
    WriteRow(kMappingTable,
             MappingRow{{id++},
                        program::HexOf(mapping.build_id),
                        mapping.exact_offset,
                        mapping.start,
                        mapping.end,
                        mapping.load_bias,
                        TextOrNull(mapping.path)},
             mappings);
  }
}

}  // namespace pztrace
