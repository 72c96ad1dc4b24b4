// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes a large trace of known content to the standard output:
//
//   large_trace slices 1640000 >slices.pftrace
//   large_trace args 3000000 >args.pftrace
//   large_trace tracks 731000 >tracks.pftrace
//   large_trace switches 10000000 >switches.pftrace
//
// The first has that many slices on eight threads, nested up to six deep, some
// with arguments and flows. The second has two numbers as arguments of each
// slice instead. The third has that many tracks below two
// processes, and three slices on each: the last two are nested in the first.
// The fourth has so many switches from one of the eight threads to another, on
// four processors, a sample of a stack for each tenth of them, and a slice for
// each twentieth. All look like traces of our own programs: interned names,
// times that are differences, and a sequence for each thread, whose packets
// arrive in runs. The same arguments give the same bytes.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "protozero/tracing/trace.h"

namespace {

namespace trace = protozero::trace;
using trace::TracePacket;
using trace::TrackEvent;

constexpr uint32_t kClock = 64;
constexpr uint64_t kBeginNs = 1000000000;
constexpr uint32_t kThreads = 8;
constexpr uint32_t kNames = 200;
constexpr uint32_t kPacketsInRun = 150;  // About a chunk of 4 KiB.

class Random {
 public:
  // Returns a number below |end|.
  uint32_t Below(uint32_t end) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(state_ >> 33) % end;
  }

 private:
  uint64_t state_ = 1;
};

uint64_t ProcessTrack(uint32_t process) {
  return 0x5000000000000000 + process;
}

uint64_t ThreadTrack(uint32_t thread) {
  return 0x6000000000000000 + thread;
}

// Returns a number that is as scattered as a hash, and different for each
// |request| below 2^42.
uint64_t RequestTrack(uint64_t request) {
  return (request * 0x9e3779b97f4a7c15) & ((uint64_t{1} << 42) - 1);
}

class Sequence {
 public:
  // If it |has_args|, each slice of the thread's own track has two arguments,
  // and no other details.
  Sequence(uint32_t thread, bool has_args)
      : thread_(thread), has_args_(has_args) {}

  // Describes the thread, its process, and the ids that later packets use.
  void Begin() {
    Write([this](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      auto* defaults = packet->set_trace_packet_defaults();
      defaults->set_timestamp_clock_id(kClock);
      defaults->set_track_event_defaults()->set_track_uuid(
          ThreadTrack(thread_));
      auto* snapshot = packet->set_clock_snapshot();
      for (const uint32_t id : {kClock, 6u}) {
        auto* clock = snapshot->add_clocks();
        clock->set_clock_id(id);
        clock->set_timestamp(time_ns_);
        if (id == kClock)
          clock->set_is_incremental(true);
      }
      auto* interned = packet->set_interned_data();
      auto* category = interned->add_event_categories();
      category->set_iid(1);
      category->set_name("load");
      for (uint32_t i = 1; i <= kNames; ++i) {
        auto* name = interned->add_event_names();
        name->set_iid(i);
        name->set_name("Function" + std::to_string(i));
      }
      for (const uint32_t iid : {1u, 2u}) {
        auto* key = interned->add_debug_annotation_names();
        key->set_iid(iid);
        key->set_name(iid == 1 ? "bytes" : "count");
      }
    });
    const int32_t pid = 1000 + static_cast<int32_t>(thread_ % 2);
    Write([&](TracePacket* packet) {
      auto* track = packet->set_track_descriptor();
      track->set_uuid(ProcessTrack(thread_ % 2));
      auto* process = track->set_process();
      process->set_pid(pid);
      process->set_process_name("server" + std::to_string(thread_ % 2));
    });
    Write([&](TracePacket* packet) {
      auto* track = packet->set_track_descriptor();
      track->set_uuid(ThreadTrack(thread_));
      track->set_parent_uuid(ProcessTrack(thread_ % 2));
      auto* thread = track->set_thread();
      thread->set_pid(pid);
      thread->set_tid(2000 + thread_);
      thread->set_thread_name("worker" + std::to_string(thread_));
    });
  }

  // Writes an event |passed_ns| after the last one. A |name| of 0 means an end,
  // and a |track| of 0 means the thread's track.
  void WriteEvent(uint32_t passed_ns, uint32_t name, uint64_t track) {
    time_ns_ += passed_ns;
    Write([&](TracePacket* packet) {
      packet->set_timestamp(passed_ns);
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      auto* event = packet->set_track_event();
      event->set_type(name != 0 ? TrackEvent::TYPE_SLICE_BEGIN
                                : TrackEvent::TYPE_SLICE_END);
      if (track != 0)
        event->set_track_uuid(track);
      if (name != 0) {
        event->add_category_iids(1);
        event->set_name_iid(name);
      }
      if (name != 0 && track == 0)
        AddDetails(event);
    });
  }

  void WriteTrack(uint64_t uuid, const std::string& name) {
    Write([&](TracePacket* packet) {
      auto* track = packet->set_track_descriptor();
      track->set_uuid(uuid);
      track->set_parent_uuid(ProcessTrack(thread_ % 2));
      track->set_name(name);
    });
  }

  // The number of the thread's slices that are open.
  uint32_t depth = 0;

 private:
  void AddDetails(TrackEvent* event) {
    ++begun_;
    if (has_args_ || begun_ % 4 == 0) {
      auto* annotation = event->add_debug_annotations();
      annotation->set_name_iid(1);
      annotation->set_int_value(static_cast<int64_t>(time_ns_ % 1000000));
    }
    if (has_args_) {
      auto* annotation = event->add_debug_annotations();
      annotation->set_name_iid(2);
      annotation->set_int_value(static_cast<int64_t>(begun_ % 5000));
      return;
    }
    if (begun_ % 8 == 0) {
      auto* annotation = event->add_debug_annotations();
      annotation->set_name("path");
      annotation->set_string_value("/index/" + std::to_string(begun_));
    }
    if (begun_ % 16 == 0)
      event->add_flow_ids(begun_ / 16);
  }

  template <typename Fill>
  void Write(const Fill& fill) {
    uint8_t bytes[8192];
    protozero::StaticBuffered<trace::Trace> file(bytes, sizeof(bytes));
    auto* packet = file->add_packet();
    fill(packet);
    packet->set_trusted_uid(1000);
    packet->set_trusted_packet_sequence_id(thread_ + 2);
    packet->set_trusted_pid(1000 + static_cast<int32_t>(thread_ % 2));
    const size_t size = file.Finalize();
    if (size == 0 || fwrite(bytes, 1, size, stdout) != size)
      abort();
  }

  const uint32_t thread_;
  const bool has_args_;
  uint64_t time_ns_ = kBeginNs;
  uint64_t begun_ = 0;  // The number of slices that the thread has begun.
};

std::vector<Sequence> BeginSequences(bool has_args) {
  std::vector<Sequence> sequences;
  for (uint32_t i = 0; i < kThreads; ++i)
    sequences.emplace_back(i, has_args).Begin();
  return sequences;
}

void WriteSlices(uint64_t slices, bool has_args) {
  Random random;
  std::vector<Sequence> sequences = BeginSequences(has_args);
  for (uint64_t begun = 0; begun < slices;) {
    for (Sequence& sequence : sequences) {
      for (uint32_t i = 0; i < kPacketsInRun && begun < slices; ++i) {
        const bool begins =
            sequence.depth == 0 || (sequence.depth < 6 && random.Below(2) == 0);
        sequence.WriteEvent(100 + random.Below(60000),
                            begins ? 1 + random.Below(kNames) : 0, 0);
        if (begins)
          ++begun;
        sequence.depth = begins ? sequence.depth + 1 : sequence.depth - 1;
      }
    }
  }
  for (Sequence& sequence : sequences) {
    for (; sequence.depth != 0; --sequence.depth)
      sequence.WriteEvent(100, 0, 0);
  }
}

// Writes |tracks| tracks, one per request. The request's first slice contains
// the other two, one after the other.
void WriteTracks(uint64_t tracks) {
  // The number of a thread's requests that are open at a time.
  constexpr uint32_t kOpen = 16;
  constexpr uint32_t kNameOfStep[] = {1, 2, 0, 3, 0, 0};
  struct Request {
    uint64_t track = 0;
    size_t step = 0;
  };
  Random random;
  std::vector<Sequence> sequences = BeginSequences(/*has_args=*/false);
  std::vector<Request> requests(kThreads * kOpen);
  uint64_t begun = 0;
  for (uint64_t open = 1; open != 0;) {
    open = 0;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      for (uint32_t i = 0; i < kPacketsInRun; ++i) {
        Request& request = requests[thread * kOpen + random.Below(kOpen)];
        if (request.track == 0) {
          if (begun == tracks)
            continue;
          request.track = RequestTrack(++begun);
          sequences[thread].WriteTrack(request.track,
                                       "request " + std::to_string(begun));
        }
        sequences[thread].WriteEvent(100 + random.Below(60000),
                                     kNameOfStep[request.step], request.track);
        if (++request.step == 6)
          request = {};
      }
    }
    for (const Request& request : requests)
      open += request.track != 0;
  }
}

// The states of threads, and the stacks of samples, as a recorder writes them.
class Kernel {
 public:
  static constexpr uint32_t kStacks = 5000;

  void Begin(Random* random) {
    constexpr uint32_t kFrames = 2000;
    protozero::HeapBuffered<trace::Trace> file;
    auto* packet = file->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto* tree = packet->set_generic_kernel_process_tree();
    for (uint32_t i = 0; i < kThreads; ++i) {
      auto* thread = tree->add_threads();
      thread->set_tid(2000 + static_cast<int64_t>(i));
      thread->set_pid(1000 + static_cast<int64_t>(i % 2));
      thread->set_comm("worker" + std::to_string(i));
    }
    packet = file->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    auto* interned = packet->set_interned_data();
    for (uint32_t i = 1; i <= kFrames; ++i) {
      auto* name = interned->add_function_names();
      name->set_iid(i);
      name->set_str("Compute" + std::to_string(i));
      auto* frame = interned->add_frames();
      frame->set_iid(i);
      frame->set_function_name_id(i);
      frame->set_rel_pc(16 * i);
    }
    for (uint32_t i = 1; i <= kStacks; ++i) {
      auto* stack = interned->add_callstacks();
      stack->set_iid(i);
      for (uint32_t depth = 8 + random->Below(25); depth != 0; --depth)
        stack->add_frame_ids(1 + random->Below(kFrames));
    }
    Write(&file);
  }

  void WriteState(uint64_t time_ns,
                  uint32_t cpu,
                  uint32_t thread,
                  trace::GenericKernelTaskStateEvent::TaskStateEnum state) {
    auto* packet = NewPacket(time_ns);
    auto* event = packet->set_generic_kernel_task_state_event();
    event->set_cpu(static_cast<int32_t>(cpu));
    event->set_tid(2000 + static_cast<int64_t>(thread));
    event->set_state(state);
    Write(&file_);
  }

  void WriteSample(uint64_t time_ns,
                   uint32_t cpu,
                   uint32_t thread,
                   uint32_t stack) {
    auto* packet = NewPacket(time_ns);
    auto* sample = packet->set_stack_sample();
    auto* task = sample->set_task_context();
    task->set_pid(1000 + thread % 2);
    task->set_tid(2000 + thread);
    sample->set_execution_context()->set_cpu(cpu);
    sample->set_callstack_iid(stack);
    sample->set_primary_weight(1000000);
    Write(&file_);
  }

 private:
  TracePacket* NewPacket(uint64_t time_ns) {
    auto* packet = file_->add_packet();
    packet->set_timestamp(time_ns);
    packet->set_timestamp_clock_id(6);
    packet->set_trusted_packet_sequence_id(1);
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    return packet;
  }

  static void Write(protozero::HeapBuffered<trace::Trace>* file) {
    const std::string bytes = file->SerializeAsString();
    if (fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
      abort();
    file->Reset();
  }

  protozero::HeapBuffered<trace::Trace> file_;
};

void WriteSwitches(uint64_t switches) {
  using Event = trace::GenericKernelTaskStateEvent;
  constexpr uint32_t kCpus = 4;
  Random random;
  std::vector<Sequence> sequences = BeginSequences(/*has_args=*/false);
  Kernel kernel;
  kernel.Begin(&random);
  uint64_t time_ns = kBeginNs;
  // The first ones run, the others wait.
  uint32_t threads[kThreads];
  uint64_t last_event_ns[kThreads];
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads[i] = i;
    last_event_ns[i] = time_ns;
    kernel.WriteState(time_ns, i % kCpus, i,
                      i < kCpus ? Event::TASK_STATE_RUNNING
                                : Event::TASK_STATE_INTERRUPTIBLE_SLEEP);
  }
  for (uint64_t i = 0; i < switches; ++i) {
    time_ns += 100 + random.Below(10000);
    const uint32_t cpu = random.Below(kCpus);
    const uint32_t thread = threads[cpu];
    if (i % 10 == 0) {
      kernel.WriteSample(time_ns, cpu, thread,
                         1 + random.Below(Kernel::kStacks));
      Sequence& sequence = sequences[thread];
      const bool begins =
          sequence.depth == 0 || (sequence.depth < 6 && random.Below(2) == 0);
      sequence.WriteEvent(
          static_cast<uint32_t>(time_ns - last_event_ns[thread]),
          begins ? 1 + random.Below(kNames) : 0, 0);
      last_event_ns[thread] = time_ns;
      sequence.depth = begins ? sequence.depth + 1 : sequence.depth - 1;
    }
    const uint32_t next = kCpus + random.Below(kThreads - kCpus);
    kernel.WriteState(time_ns, cpu, thread,
                      random.Below(4) == 0
                          ? Event::TASK_STATE_RUNNABLE
                          : Event::TASK_STATE_INTERRUPTIBLE_SLEEP);
    kernel.WriteState(time_ns, cpu, threads[next], Event::TASK_STATE_RUNNING);
    std::swap(threads[cpu], threads[next]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[1] : "";
  char* end = nullptr;
  const uint64_t count = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
  const bool has_args = kind == "args";
  if ((!has_args && kind != "slices" && kind != "switches" &&
       kind != "tracks") ||
      *end != '\0' || count == 0) {
    fprintf(stderr, "Usage: large_trace slices|args|tracks|switches COUNT\n");
    return 2;
  }
  if (kind == "tracks")
    WriteTracks(count);
  else if (kind == "switches")
    WriteSwitches(count);
  else
    WriteSlices(count, has_args);
  if (fflush(stdout) != 0) {
    fprintf(stderr, "large_trace: %s\n", strerror(errno));
    return 1;
  }
  return 0;
}
