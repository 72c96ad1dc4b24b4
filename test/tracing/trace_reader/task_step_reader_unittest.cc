// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/task_step_reader.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/task_sequence.h"

namespace {

using protozero::HeapBuffered;
using protozero::TaskPlace;
using protozero::TaskStep;
using protozero::TraceReader;
using protozero::internal::TaskSequence;
using protozero::trace::InternedData;
using protozero::trace::TaskEvent;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;
using protozero::trace::TrackEvent;

constexpr uint64_t kProcess = 1000, kThread = 1001, kRow = 1002;

// Makes packets that the library's writer would not make, and reads them.
class TaskStepReaderTest : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  template <typename Fill>
  void Add(uint32_t sequence, const Fill& fill) {
    HeapBuffered<Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(sequence);
    fill(packet);
    trace_ += trace.SerializeAsString();
  }
  template <typename Fill>
  void Describe(uint64_t uuid, uint64_t parent, const Fill& fill) {
    Add(1, [&](TracePacket* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(uuid);
      if (parent != 0)
        track->set_parent_uuid(parent);
      fill(track);
    });
  }
  void DescribeThread(uint64_t uuid, int tid) {
    Describe(uuid, kProcess, [tid](TrackDescriptor* track) {
      auto* const thread = track->set_thread();
      thread->set_pid(7);
      thread->set_tid(tid);
    });
  }
  void DescribeRow(uint64_t uuid, uint64_t parent, const char* name = "tasks") {
    Describe(uuid, parent, [name](TrackDescriptor* track) {
      track->set_name(name);
      track->set_state();
    });
  }
  void DescribeAll() {
    Describe(kProcess, 0,
             [](TrackDescriptor* track) { track->set_process()->set_pid(7); });
    DescribeThread(kThread, 8);
    DescribeRow(kRow, kThread);
  }
  // Begins a sequence, which knows the task 10n as n, for n from |first| on.
  void Begin(uint32_t sequence,
             uint64_t row = kRow,
             uint64_t first = 1,
             uint64_t count = 3) {
    Add(sequence, [&](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      packet->set_trace_packet_defaults()
          ->set_track_event_defaults()
          ->set_track_uuid(row);
      auto* const data = packet->set_interned_data();
      auto* const site = data->add_task_sites();
      site->set_iid(1);
      site->set_name("site");
      site->set_file("file.cc");
      site->set_line(12);
      for (uint64_t i = first; i < first + count; ++i) {
        auto* const run = data->add_task_runs();
        run->set_iid(i);
        run->set_task(10 * i);
        run->set_site_iid(1);
      }
    });
  }
  template <typename Fill>
  void AddEvent(uint32_t sequence,
                uint64_t time_ns,
                TrackEvent::Type type,
                const Fill& fill) {
    Add(sequence, [&](TracePacket* packet) {
      packet->set_timestamp(time_ns);
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      auto* const event = packet->set_track_event();
      event->set_type(type);
      fill(event);
    });
  }
  void Switch(uint32_t sequence, uint64_t time_ns, uint64_t iid) {
    AddEvent(sequence, time_ns, TrackEvent::TYPE_STATE,
             [iid](TrackEvent* event) {
               if (iid != 0)
                 event->set_name_iid(iid);
             });
  }
  template <typename Fill>
  void AddStep(uint32_t sequence, uint64_t time_ns, const Fill& fill) {
    AddEvent(sequence, time_ns, TrackEvent::TYPE_INSTANT,
             [&](TrackEvent* event) {
               event->set_track_uuid(kThread);
               fill(event->set_task());
             });
  }
  void Wake(uint32_t sequence, uint64_t time_ns, uint64_t task) {
    AddStep(sequence, time_ns,
            [task](TaskEvent* step) { step->set_woken(task); });
  }
  void Lose(uint32_t sequence) {
    Add(sequence,
        [](TracePacket* packet) { packet->set_previous_packet_dropped(true); });
  }

  static std::string LineOf(const TaskStep& step) {
    static constexpr const char* kKinds[] = {"run", "spawn",   "wake",
                                             "end", "request", "loss"};
    std::string line = std::to_string(step.time_ns) + " " +
                       kKinds[static_cast<size_t>(step.kind)];
    if (step.kind != TaskStep::Kind::kLoss &&
        step.kind != TaskStep::Kind::kRequest) {
      line += " " + std::to_string(step.task);
    }
    if (step.stop == TaskStep::Stop::kWaits)
      line += step.waits_at != nullptr ? " at " + step.waits_at->name : " at ?";
    if (step.stop == TaskStep::Stop::kEnds)
      line += " ends";
    if (step.thread != kThread)
      line += " on " + std::to_string(step.thread);
    EXPECT_EQ(step.process, kProcess);
    return line + (step.text.empty() ? "" : " " + std::string(step.text));
  }
  Lines Read() {
    Lines lines;
    states_.clear();
    TraceReader::Callbacks callbacks;
    callbacks.on_task_step = [&](const TaskStep& step) {
      lines.push_back(LineOf(step));
      if (step.spawned_at != nullptr)
        places_.push_back(*step.spawned_at);
    };
    callbacks.on_slice = [this](const protozero::Slice& slice) {
      states_.push_back(std::to_string(slice.begin_ns) + "+" +
                        std::to_string(slice.duration_ns));
    };
    TraceReader reader(std::move(callbacks));
    EXPECT_TRUE(reader.Read(
        {reinterpret_cast<const uint8_t*>(trace_.data()), trace_.size()}));
    reader.Finish();
    return lines;
  }

  std::string trace_;
  std::vector<TaskPlace> places_;
  Lines states_;
};

TEST_F(TaskStepReaderTest, AnUnknownTaskIsALoss) {
  DescribeAll();
  Begin(2);
  Switch(2, 100, 1);
  Switch(2, 110, 77);
  Switch(2, 120, 2);
  Switch(2, 130, 0);
  EXPECT_EQ(Read(),
            (Lines{"100 run 10", "120 loss", "120 run 20", "130 run 0"}));
  ASSERT_EQ(places_.size(), 2u);
  EXPECT_EQ(places_[1].name, "site");
  EXPECT_EQ(places_[1].file, "file.cc");
  EXPECT_EQ(places_[1].line, 12u);
  // Viewers see the rows.
  EXPECT_EQ(states_.size(), 3u);
}

TEST_F(TaskStepReaderTest, ASwitchSaysHowTheTaskBeforeItEnded) {
  DescribeAll();
  Begin(2);
  Switch(2, 100, 1);
  AddEvent(2, 110, TrackEvent::TYPE_STATE, [](TrackEvent* event) {
    event->set_name_iid(2);
    event->set_task()->set_result(TaskEvent::RESULT_FAILED);
  });
  AddEvent(2, 120, TrackEvent::TYPE_STATE,
           [](TrackEvent* event) { event->set_task()->set_wait_site_iid(77); });
  EXPECT_EQ(Read(), (Lines{"100 run 10", "110 run 20 ends", "120 run 0 at ?"}));
}

TEST_F(TaskStepReaderTest, AStateWithATextForItsNameIsNoTask) {
  DescribeAll();
  Begin(2);
  Switch(2, 100, 1);
  AddEvent(2, 110, TrackEvent::TYPE_STATE,
           [](TrackEvent* event) { event->set_name("other"); });
  Wake(2, 120, 10);
  EXPECT_EQ(Read(), (Lines{"100 run 10", "120 loss", "120 wake 10"}));
}

TEST_F(TaskStepReaderTest, NumbersThatNobodyKnows) {
  DescribeAll();
  Begin(2);
  Add(2, [](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    auto* const data = packet->set_interned_data();
    data->add_task_runs();  // Without anything.
    data->add_task_runs()->set_iid(7);
    auto* run = data->add_task_runs();
    run->set_iid(8);
    run->set_task(UINT64_MAX);
    run->set_site_iid(UINT64_MAX);
    run = data->add_task_runs();
    run->set_iid(UINT64_MAX);
    run->set_task(5);
    // The first one counts.
    run = data->add_task_runs();
    run->set_iid(8);
    run->set_task(6);
    data->add_task_sites();
  });
  Switch(2, 100, 8);
  Switch(2, 110, UINT64_MAX);
  AddEvent(2, 120, TrackEvent::TYPE_STATE, [](TrackEvent* event) {
    event->set_name_iid(8);
    event->set_task()->set_wait_site_iid(99);
  });
  Switch(2, 130, 7);
  AddStep(2, 140, [](TaskEvent* step) { step->set_woken(0); });
  AddStep(2, 150, [](TaskEvent*) {});
  AddStep(2, 160, [](TaskEvent* step) {
    step->set_spawned(UINT64_MAX);
    step->set_site_iid(99);
  });
  EXPECT_EQ(Read(), (Lines{"100 run 18446744073709551615", "110 run 5",
                           "120 run 18446744073709551615 at ?", "160 loss",
                           "160 spawn 18446744073709551615"}));
  EXPECT_EQ(places_.size(), 0u);
}

TEST_F(TaskStepReaderTest, StatesOfOtherTracksAreNoSteps) {
  DescribeAll();
  const std::string described = trace_;
  const auto try_row = [&](uint64_t row) {
    Begin(2, row);
    Switch(2, 100, 1);
    Switch(2, 110, 0);
    Wake(2, 120, 10);
    const Lines lines = Read();
    EXPECT_EQ(states_, (Lines{"100+10"}));
    trace_ = described;
    return lines;
  };
  EXPECT_EQ(try_row(kRow).size(), 3u);
  // It is not described.
  EXPECT_EQ(try_row(5), Lines());
  // It has another name.
  DescribeRow(5, kThread, "queue");
  EXPECT_EQ(try_row(5), Lines());
  // Its parent is no thread, or not there.
  DescribeRow(5, kProcess);
  EXPECT_EQ(try_row(5), Lines());
  DescribeRow(5, 6);
  EXPECT_EQ(try_row(5), Lines());
  DescribeRow(5, 0);
  EXPECT_EQ(try_row(5), Lines());
  DescribeRow(5, 5);
  EXPECT_EQ(try_row(5), Lines());

  // A state on another track, and an instant on another thread.
  DescribeThread(9, 9);
  Begin(2);
  AddEvent(2, 100, TrackEvent::TYPE_STATE, [](TrackEvent* event) {
    event->set_track_uuid(5);
    event->set_name_iid(1);
  });
  AddEvent(2, 110, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
    event->set_track_uuid(9);
    event->set_task()->set_woken(3);
  });
  AddEvent(2, 120, TrackEvent::TYPE_INSTANT,
           [](TrackEvent* event) { event->set_task()->set_woken(3); });
  EXPECT_EQ(Read(), Lines());
}

TEST_F(TaskStepReaderTest, AThreadThatIsDescribedLateHasLostSteps) {
  Begin(2);
  Switch(2, 100, 1);
  DescribeAll();
  Switch(2, 110, 2);
  EXPECT_EQ(Read(), (Lines{"110 loss", "110 run 20"}));
}

TEST_F(TaskStepReaderTest, ALossIsSaidOnce) {
  DescribeAll();
  Begin(2);
  Switch(2, 100, 1);
  Lose(2);
  Switch(2, 110, 2);  // Skipped: the sequence has not started over.
  Lose(2);
  Begin(2);
  Switch(2, 120, 1);
  Wake(2, 130, 20);
  EXPECT_EQ(Read(),
            (Lines{"100 run 10", "120 loss", "120 run 10", "130 wake 20"}));
}

TEST_F(TaskStepReaderTest, ALossAtTheBeginningAndAtTheEnd) {
  DescribeAll();
  Switch(2, 90, 1);  // The buffer has wrapped.
  Begin(2);
  Switch(2, 100, 1);
  Lose(2);
  Switch(3, 200, 1);  // Another sequence.
  EXPECT_EQ(Read(), (Lines{"100 loss", "100 run 10", "100 loss"}));
}

TEST_F(TaskStepReaderTest, TheRunningTaskIsSaidAgain) {
  DescribeAll();
  Begin(2);
  Switch(2, 100, 1);
  Begin(2);
  Switch(2, 110, 1);
  Wake(2, 110, 20);
  // A task that goes on by itself.
  Switch(2, 120, 1);
  Begin(2);
  Switch(2, 130, 1);
  Switch(2, 140, 0);
  Begin(2);
  Wake(2, 150, 10);
  EXPECT_EQ(Read(), (Lines{"100 run 10", "110 wake 20", "120 run 10",
                           "140 run 0", "150 wake 10"}));
  // Without it, this is another session.
  Switch(2, 160, 2);
  Begin(2);
  Wake(2, 170, 10);
  const Lines lines = Read();
  EXPECT_EQ(Lines(lines.begin() + 5, lines.end()),
            (Lines{"160 run 20", "170 loss", "170 wake 10"}));
}

TEST_F(TaskStepReaderTest, SequencesOfOneThreadAreInOrderOfTime) {
  DescribeAll();
  // The later thread comes first in the file.
  Begin(3);
  Switch(3, 200, 1);
  Switch(3, 210, 0);
  Begin(2);
  Switch(2, 100, 2);
  Switch(2, 110, 0);
  EXPECT_EQ(Read(), (Lines{"100 run 20", "110 run 0", "200 loss", "200 run 10",
                           "210 run 0"}));
}

TEST_F(TaskStepReaderTest, ASequenceThatIsAnotherThreadsLater) {
  DescribeAll();
  DescribeThread(9, 9);
  DescribeRow(10, 9);
  Begin(2);
  Switch(2, 100, 1);
  Begin(2, 10);
  Switch(2, 110, 1);
  Begin(2);
  Switch(2, 120, 1);
  EXPECT_EQ(Read(),
            (Lines{"100 run 10", "110 run 10 on 9", "120 loss", "120 run 10"}));
}

TEST_F(TaskStepReaderTest, AStepThatComesTooLateIsLost) {
  DescribeAll();
  Begin(2);
  Switch(2, 1000, 1);
  for (size_t i = 0; i < 2 * TraceReader::kMaxLateness; ++i)
    Wake(2, 2000, 10);
  Switch(2, 1500, 2);
  Wake(2, 3000, 20);
  const Lines lines = Read();
  ASSERT_EQ(lines.size(), 2 * TraceReader::kMaxLateness + 3);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "2000 loss"), 1);
  EXPECT_EQ(lines.back(), "3000 wake 20");
}

TEST_F(TaskStepReaderTest, TasksBeyondTheLimitAreLost) {
  DescribeAll();
  Begin(2, kRow, 1, TaskSequence::kMaxRuns + 1);
  Switch(2, 100, TaskSequence::kMaxRuns);
  Switch(2, 110, TaskSequence::kMaxRuns + 1);
  Switch(2, 120, 1);
  EXPECT_EQ(Read(),
            (Lines{"100 run " + std::to_string(10 * TaskSequence::kMaxRuns),
                   "120 loss", "120 run 10"}));
}

TEST_F(TaskStepReaderTest, PlacesBeyondTheLimitAreUnknown) {
  DescribeAll();
  Begin(2);
  Add(2, [](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    auto* const data = packet->set_interned_data();
    for (size_t i = 2; i <= TaskSequence::kMaxPlaces + 1; ++i) {
      auto* const site = data->add_task_sites();
      site->set_iid(i);
      site->set_name("place " + std::to_string(i));
    }
  });
  for (const uint64_t site :
       {TaskSequence::kMaxPlaces, TaskSequence::kMaxPlaces + 1}) {
    AddEvent(2, site, TrackEvent::TYPE_STATE, [site](TrackEvent* event) {
      event->set_task()->set_wait_site_iid(site);
    });
  }
  EXPECT_EQ(Read(), (Lines{"65536 run 0 at place 65536", "65537 run 0 at ?"}));
}

TEST_F(TaskStepReaderTest, LongTextsAreCut) {
  DescribeAll();
  Begin(2);
  AddStep(2, 100, [](TaskEvent* step) {
    step->set_request(std::string(1 << 20, 'x'));
  });
  // Many texts that wait for their place in time: they do not wait for ever.
  for (uint64_t i = 0; i < 10000; ++i) {
    AddStep(2, 200 + i, [](TaskEvent* step) {
      step->set_spawned(1);
      step->set_name(std::string(4096, 'y'));
    });
  }
  const Lines lines = Read();
  ASSERT_EQ(lines.size(), 10001u);
  EXPECT_EQ(lines[0], "100 request " +
                          std::string(protozero::EventText::kMaxTextSize, 'x'));
  EXPECT_EQ(lines.back(), "10199 spawn 1 " + std::string(4096, 'y'));
}

}  // namespace
