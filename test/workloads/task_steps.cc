// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/task_steps.h"

#include <time.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"

namespace protozero::workloads {

namespace {

using protozero::trace::InternedData;
using protozero::trace::TaskEvent;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// Returns the size without the fields that the service adds, and with the size
// in front of the packet.
size_t SizeInSharedMemory(ConstBytes packet) {
  ProtoDecoder decoder(packet.data, packet.size);
  size_t size = 1;
  size_t left = decoder.bytes_left();
  for (Field field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    const size_t before = left;
    left = decoder.bytes_left();
    switch (field.id()) {
      case TracePacket::kTimestampFieldNumber:
      case TracePacket::kTrackEventFieldNumber:
      case TracePacket::kInternedDataFieldNumber:
      case TracePacket::kSequenceFlagsFieldNumber:
        size += before - left;
        break;
      default:
        break;
    }
  }
  return size;
}

double ThreadNanoseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 +
         static_cast<double>(time.tv_nsec);
}

}  // namespace

TaskStep TaskStepReader::Read(ConstBytes bytes) {
  TaskStep step;
  const TracePacket::Decoder packet(bytes);
  const InternedData::Decoder data(packet.interned_data());
  const TrackEvent::Decoder event(packet.track_event());
  const TaskEvent::Decoder task(event.task());
  if (packet.status() != DecodeStatus::kOk ||
      data.status() != DecodeStatus::kOk ||
      event.status() != DecodeStatus::kOk ||
      task.status() != DecodeStatus::kOk) {
    return step;
  }
  Sequence& sequence = sequences_[packet.trusted_packet_sequence_id()];
  step.has_new_ids = packet.has_interned_data();
  step.bytes = SizeInSharedMemory(bytes);
  for (const ConstBytes site_bytes : data.task_sites()) {
    const trace::TaskSite::Decoder site(site_bytes);
    sequence.sites[site.iid()] = site.name().ToStdString();
  }
  for (const ConstBytes run_bytes : data.task_runs()) {
    const trace::TaskRun::Decoder run(run_bytes);
    sequence.runs[run.iid()] = {run.task(), run.site_iid()};
  }
  if (event.type() == TrackEvent::TYPE_STATE) {
    step.other = sequence.running;
    step.other_site = sequence.running_site;
    step.has_result = task.has_result();
    if (event.has_name_iid()) {
      const auto run = sequence.runs.find(event.name_iid());
      if (run == sequence.runs.end())
        return step;
      step.task = run->second.task;
      step.site = sequence.sites[run->second.site_iid];
    }
    sequence.running = step.task;
    sequence.running_site = step.site;
    step.kind = step.task == step.other && !step.has_result ? TaskStep::kGoesOn
                                                            : TaskStep::kSwitch;
  } else if (task.has_spawned()) {
    step.kind = TaskStep::kSpawn;
    step.task = task.spawned();
    step.site = sequence.sites[task.site_iid()];
    step.other = task.has_parent() ? task.parent() : sequence.running;
  } else if (task.has_woken()) {
    step.kind = TaskStep::kWake;
    step.task = task.woken();
  } else if (task.has_ended()) {
    step.kind = TaskStep::kEnd;
    step.task = task.ended();
  }
  return step;
}

void TaskSwitchSums::Count(const TaskStep& step, const char* site) {
  if (step.kind == TaskStep::kWrong)
    ++wrong;
  if (step.kind != TaskStep::kSwitch || step.task == 0 || step.site != site)
    return;
  ++switches;
  if (!step.has_new_ids && !step.has_result) {
    ++short_switches;
    short_bytes += step.bytes;
  }
}

std::string TaskSwitchSums::FindProblem(uint64_t expected) const {
  if (wrong != 0)
    return std::to_string(wrong) + " steps are wrong";
  if (switches != expected) {
    return std::to_string(switches) + " switches are in the trace, of " +
           std::to_string(expected);
  }
  if (short_switches == 0)
    return "no switch is as short as it should be";
  if (bytes_per_switch() > 12) {
    return "a switch takes " + std::to_string(bytes_per_switch()) +
           " bytes, more than 12";
  }
  return "";
}

double MeasureTaskSwitch(uint32_t num_threads) {
  constexpr int kBatches = 25;
  constexpr int kSwitches = 2000;
  std::vector<double> medians(num_threads);
  std::vector<std::thread> threads;
  for (double& median : medians) {
    threads.emplace_back([&median] {
      const Task tasks[] = {Task::Spawn(PROTOZERO_TASK_SITE(kLoopSite)),
                            Task::Spawn(PROTOZERO_TASK_SITE(kLoopSite))};
      std::vector<double> times;
      for (int batch = 0; batch <= kBatches; ++batch) {
        const double begin = ThreadNanoseconds();
        for (int i = 0; i < kSwitches; i += 2) {
          SwitchTask(tasks[0]);
          SwitchTask(tasks[1]);
        }
        // The first one warms up.
        if (batch > 0)
          times.push_back((ThreadNanoseconds() - begin) / kSwitches);
      }
      SwitchTask(Task(), TaskResult::kDone);
      tasks[0].End(TaskResult::kDone);
      const auto middle = times.begin() + kBatches / 2;
      std::nth_element(times.begin(), middle, times.end());
      median = *middle;
    });
  }
  double sum = 0;
  for (std::thread& thread : threads)
    thread.join();
  for (const double median : medians)
    sum += median;
  return sum / num_threads;
}

}  // namespace protozero::workloads
