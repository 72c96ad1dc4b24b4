// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_fibers.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/tracing/trace.h"
#include "test/testing/allocation_monitor.h"
#include "test/testing/expect_mistake.h"
#include "test/workloads/recording.h"
#include "test/workloads/shared_value.h"
#include "test/workloads/skynet_environment.h"
#include "test/workloads/skynet_task_check.h"
#include "test/workloads/skynet_task_fibers.h"
#include "test/workloads/skynet_trace_check.h"
#include "test/workloads/skynet_tracer.h"
#include "test/workloads/task_steps.h"

namespace protozero::workloads {
namespace {

using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

constexpr SkynetTree kTree(1000);

// A session and the sums of its trace.
class SkynetFibersTest : public testing::Test {
 protected:
  SkynetFibersTest() {
    void* const memory =
        mmap(nullptr, sizeof(SkynetTraceSums), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sums_ = new (memory) SkynetTraceSums();
  }
  ~SkynetFibersTest() override { munmap(sums_, sizeof(SkynetTraceSums)); }

  void StartRecording(Recording::Options options = Recording::Options()) {
    options.digest = [check = std::make_shared<SkynetTraceCheck>(kTree, sums_)](
                         ConstBytes packet) -> uint64_t {
      check->OnEvent(packet);
      return 0;
    };
    std::string problem;
    recording_ = Recording::Start(options, &problem);
    ASSERT_NE(recording_, nullptr) << problem;
  }
  const SkynetTraceSums& StopRecording() {
    EXPECT_EQ(recording_->Stop().problem, "");
    return *sums_;
  }

  const TraceClock clock_;
  SkynetTraceSums* sums_ = nullptr;
  std::unique_ptr<Recording> recording_;
};

TEST_F(SkynetFibersTest, SumIsRight) {
  NoSkynetTracer tracer;
  EXPECT_EQ(SkynetFibers<NoSkynetTracer>(kTree, &tracer).Run(), kTree.sum());
}

TEST_F(SkynetFibersTest, TraceIsComplete) {
  StartRecording();
  SkynetTracer tracer(recording_->source(), &clock_);
  {
    SkynetTracer::Thread thread(&tracer);
    EXPECT_EQ(SkynetFibers<SkynetTracer>(kTree, &tracer).Run(), kTree.sum());
  }
  const SkynetTracer::Totals totals = tracer.Finish();
  EXPECT_EQ(totals.events_written, 2 * kTree.num_nodes());
  EXPECT_EQ(totals.events_lost, 0u);
  EXPECT_EQ(StopRecording().FindProblem(kTree), "");
}

// Runs only once, in a thread that ends with it: see WorkStealingThreads.
TEST_F(SkynetFibersTest, FibersMayMove) {
  StartRecording();
  SkynetTracer tracer(recording_->source(), &clock_);
  std::thread first([&] {
    SkynetTracer::Thread thread(&tracer);
    WorkStealingThreads<SkynetTracer> threads(4, &tracer);
    EXPECT_EQ(SkynetFibers<SkynetTracer>(kTree, &tracer).Run(), kTree.sum());
  });
  first.join();
  EXPECT_EQ(tracer.Finish().events_written, 2 * kTree.num_nodes());
  EXPECT_EQ(StopRecording().FindProblem(kTree), "");
}

// The nodes as tasks.
class SkynetTaskFibersTest : public testing::Test {
 protected:
  void StartRecording(Recording::Options options = Recording::Options()) {
    options.has_track_events = true;
    options.digest = [check = check_.get(),
                      reader = std::make_shared<TaskStepReader>()](
                         ConstBytes packet) -> uint64_t {
      check->Count(reader->Read(packet));
      return 0;
    };
    std::string problem;
    recording_ = Recording::Start(options, &problem);
    ASSERT_NE(recording_, nullptr) << problem;
  }
  // Expects that the trace has the tree.
  void StopRecording() {
    EXPECT_EQ(recording_->Stop().problem, "");
    EXPECT_EQ(check_.get()->FindProblem(kTree), "");
    EXPECT_EQ(check_.get()->events(), 3 * kTree.num_nodes());
  }

  const SharedValue<SkynetTaskCheck> check_;
  SkynetTaskTracer tracer_;
  std::unique_ptr<Recording> recording_;
};

TEST_F(SkynetTaskFibersTest, TraceHasTheTree) {
  NoSkynetTaskTracer untraced;
  EXPECT_EQ(SkynetTaskFibers<NoSkynetTaskTracer>(kTree, &untraced).Run(),
            kTree.sum());
  StartRecording();
  {
    SkynetTaskTracer::Thread thread(&tracer_);
    EXPECT_EQ(SkynetTaskFibers<SkynetTaskTracer>(kTree, &tracer_).Run(),
              kTree.sum());
  }
  StopRecording();
}

// A tracer that treats the thread's packet as the fiber's: the packet is open
// while the fiber is suspended, like a packet around co_await.
class SuspendedInPacketTracer {
 public:
  explicit SuspendedInPacketTracer(const std::shared_ptr<DataSource>& source)
      : writers_(source) {}

  void Begin(uint64_t id) { Write(TrackEvent::TYPE_SLICE_BEGIN, id); }
  void End(uint64_t id) { Write(TrackEvent::TYPE_SLICE_END, id); }

 private:
  void Write(TrackEvent::Type type, uint64_t id) {
    writers_.Trace([&](TraceContext& context) {
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(1);
      packet->set_sequence_flags(
          uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE});
      if (id == SkynetTree::kRoot) {
        packet->set_sequence_flags(
            uint32_t{TracePacket::SEQ_INCREMENTAL_STATE_CLEARED} |
            uint32_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE});
        auto* name = packet->set_interned_data()->add_event_names();
        name->set_iid(SkynetTracer::kEventName);
        name->set_name(SkynetTracer::kEventNameText);
      }
      if (suspends)
        boost::this_fiber::yield();
      auto* event = packet->set_track_event();
      event->set_type(type);
      event->set_track_uuid(id);
      if (type == TrackEvent::TYPE_SLICE_BEGIN)
        event->set_name_iid(SkynetTracer::kEventName);
    });
  }

 public:
  bool suspends = false;

 private:
  DataSourceWriters writers_;
};

TEST_F(SkynetFibersTest, PacketThatIsOpenAcrossSuspensionIsNoticed) {
  // A forked child would not be traced.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool suspends : {false, true}) {
    *sums_ = SkynetTraceSums();
    StartRecording();
    {
      SuspendedInPacketTracer tracer(recording_->source());
      tracer.suspends = suspends;
      SkynetFibers<SuspendedInPacketTracer> skynet(kTree, &tracer);
      if (suspends) {
        EXPECT_MISTAKE(skynet.Run(), "");
      } else {
        EXPECT_EQ(skynet.Run(), kTree.sum());
      }
    }
    EXPECT_EQ(StopRecording().FindProblem(kTree).empty(), !suspends);
    recording_.reset();
  }
}

// An allocator that finds out how much of the stacks was never written to.
class ProbedStack {
 public:
  using traits_type = boost::fibers::fixedsize_stack::traits_type;
  explicit ProbedStack(size_t size) : size_(size) {}

  boost::context::stack_context allocate() {
    char* const memory = static_cast<char*>(malloc(size_));
    memset(memory, kUntouched, size_);
    boost::context::stack_context context;
    context.size = size_;
    context.sp = memory + size_;
    return context;
  }
  void deallocate(boost::context::stack_context& context) {
    char* const memory = static_cast<char*>(context.sp) - context.size;
    size_t free_bytes = 0;
    while (free_bytes < context.size && memory[free_bytes] == kUntouched)
      ++free_bytes;
    least_free_bytes = std::min(least_free_bytes, free_bytes);
    free(memory);
  }

  static size_t least_free_bytes;

 private:
  static constexpr char kUntouched = 0x5a;
  size_t size_;
};

size_t ProbedStack::least_free_bytes = SIZE_MAX;

TEST_F(SkynetFibersTest, StackIsLargeEnough) {
  Recording::Options options;
  // The memory is so small that writers wait, too.
  options.shared_memory_size = 8 * 4096;
  StartRecording(options);
  SkynetTracer tracer(recording_->source(), &clock_);
  {
    SkynetTracer::Thread thread(&tracer);
    using Fibers = SkynetFibers<SkynetTracer, ProbedStack>;
    EXPECT_EQ(Fibers(kTree, &tracer).Run(), kTree.sum());
  }
  tracer.Finish();
  EXPECT_EQ(StopRecording().FindProblem(kTree), "");
  EXPECT_GE(ProbedStack::least_free_bytes, 1024u);
}

TEST_F(SkynetTaskFibersTest, StackIsLargeEnough) {
  Recording::Options options;
  options.shared_memory_size = 8 * 4096;
  StartRecording(options);
  ProbedStack::least_free_bytes = SIZE_MAX;
  {
    SkynetTaskTracer::Thread thread(&tracer_);
    using Fibers = SkynetTaskFibers<SkynetTaskTracer, ProbedStack>;
    EXPECT_EQ(Fibers(kTree, &tracer_).Run(), kTree.sum());
  }
  StopRecording();
  EXPECT_GE(ProbedStack::least_free_bytes, 1024u);
}

// Fibers allocate their stacks and channels. Tracing adds no allocations.
TEST_F(SkynetFibersTest, TracingDoesNotAllocate) {
  NoSkynetTracer no_tracer;
  SkynetFibers<NoSkynetTracer> untraced(kTree, &no_tracer);
  untraced.Run();
  size_t untraced_count = 0;
  {
    const test::AllocationCounter counter;
    untraced.Run();
    untraced_count = counter.count();
  }
  EXPECT_GE(untraced_count, kTree.num_nodes());

  StartRecording();
  SkynetTracer tracer(recording_->source(), &clock_);
  {
    SkynetTracer::Thread thread(&tracer);
    SkynetFibers<SkynetTracer> traced(kTree, &tracer);
    const test::AllocationCounter counter;
    traced.Run();
    EXPECT_EQ(counter.count(), untraced_count);
  }
  tracer.Finish();
  EXPECT_EQ(StopRecording().FindProblem(kTree), "");
}

}  // namespace
}  // namespace protozero::workloads

int main(int argc, char** argv) {
  protozero::workloads::EnsureFiberEnvironment(argv, "");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
