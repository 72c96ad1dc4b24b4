// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests what a process leaves in a ring that is killed at any moment. The test
// is short by default; at length:
//
//   tracing_threads_unittests --gtest_filter=RingKillTest.* --kills=1000

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/reader/ring_reader.h"
#include "src/tracing/writer/ring_endpoint.h"
#include "test/testing/flags.h"
#include "test/testing/sanitizers.h"
#include "test/tracing/fake_service.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr uint32_t kThreads = 3;
constexpr size_t kKillPages = 64;
constexpr uint32_t kMaxSize = 6000;
constexpr uint32_t kHistory = 1024;

// The memory that survives the child.
struct Shared {
  struct Thread {
    // The number of packets that are finished.
    std::atomic<uint32_t> num_finished;
    // The ring's next step before a packet was begun, for the last packets.
    std::atomic<uint64_t> steps[kHistory];
  };
  RingState state;
  RingLosses losses;
  Thread threads[kThreads];
  alignas(kPageSize) uint8_t ring[kKillPages * kPageSize];
};

class RingKillTest : public testing::Test {
 protected:
  RingKillTest() {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared();
    abi_ = ABI(shared_->ring, sizeof(shared_->ring), kPageSize);
  }
  ~RingKillTest() override { munmap(shared_, sizeof(Shared)); }

  // Writes packets until it is killed.
  void WriteForEver() {
    RingEndpoint endpoint(abi_, &shared_->state, &shared_->losses);
    SharedMemoryArbiter::Options options;
    options.ring = &shared_->state;
    SharedMemoryArbiter arbiter(shared_->ring, sizeof(shared_->ring), kPageSize,
                                &endpoint, options);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Shared::Thread& thread = shared_->threads[i];
        const auto writer = arbiter.CreateTraceWriter(1);
        for (uint32_t index = 0;; ++index) {
          thread.steps[index % kHistory] = shared_->state.next_step.load();
          WriteNumberedPacket(i, index, kMaxSize,
                              writer->NewTracePacket().get());
          thread.num_finished = index + 1;
        }
      });
    }
    pause();
  }

  void ExpectWhatWasFinished() {
    PacketChecker checker(kMaxSize);
    std::set<std::pair<uint32_t, uint32_t>> found;
    RingReader reader(abi_);
    reader.ReadPackets([&](const RingReader::Packet& packet) {
      std::string bytes(packet.bytes.ToStdStringView());
      if (packet.previous_packet_dropped)
        bytes += "\xd0\x02\x01";
      checker.AddPacket(
          {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      ProtoDecoder event(ProtoDecoder(bytes).FindField(900).as_bytes());
      found.emplace(event.FindField(1).as_uint32(),
                    event.FindField(2).as_uint32());
    });
    EXPECT_EQ(checker.errors(), "");
    EXPECT_EQ(reader.stats().chunks_corrupt, 0u);
    EXPECT_LE(reader.stats().packets_unfinished, kThreads);
    for (uint32_t i = 0; i < kThreads; ++i) {
      const Shared::Thread& thread = shared_->threads[i];
      const uint32_t num_finished = thread.num_finished;
      for (uint32_t back = 1; back < kHistory && back <= num_finished; ++back) {
        const uint32_t index = num_finished - back;
        const uint64_t steps_since =
            shared_->state.next_step - thread.steps[index % kHistory];
        // A chunk that was completed later stays for half a round.
        if (steps_since >= kKillPages / 2)
          break;
        EXPECT_EQ(found.count({i, index}), 1u) << i << ' ' << index;
        ++num_expected_;
      }
    }
  }

  Shared* shared_;
  ABI abi_;
  uint64_t num_expected_ = 0;
};

TEST_F(RingKillTest, WhatWasFinishedIsThere) {
  std::mt19937_64 random(Flag("seed", 1));
  const uint64_t kills = Flag("kills", 30);
  for (uint64_t i = 0; i < kills && !HasFailure(); ++i) {
    SCOPED_TRACE("kill " + std::to_string(i));
    memset(static_cast<void*>(shared_), 0, sizeof(Shared));
    const pid_t process = fork();
    if (process == 0) {
      WriteForEver();
      _exit(1);
    }
    usleep(static_cast<useconds_t>(random() % 20000));
    kill(process, SIGKILL);
    ASSERT_EQ(waitpid(process, nullptr, 0), process);
    ExpectWhatWasFinished();
  }
  EXPECT_GT(num_expected_, 0u);
}

#if defined(__x86_64__)

// The processor's trap flag raises SIGTRAP after each instruction.
__attribute__((noinline)) void SetTrapFlag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n"
      "pushfq\n"
      "orq $0x100, (%%rsp)\n"
      "popfq\n"
      "lea 128(%%rsp), %%rsp\n" ::
          : "memory", "cc");
}
__attribute__((noinline)) void ClearTrapFlag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n"
      "pushfq\n"
      "andq $~0x100, (%%rsp)\n"
      "popfq\n"
      "lea 128(%%rsp), %%rsp\n" ::
          : "memory", "cc");
}

// A ring that is read after each instruction of its writer.
class SteppedRing {
 public:
  static constexpr size_t kPages = 5;

  SteppedRing() {
    SharedMemoryArbiter::Options options;
    options.ring = &state_;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &endpoint_, options);
    writer_ = arbiter_->CreateTraceWriter(1);
  }

  void Write() {
    const size_t size = SizeOf(num_finished_);
    SetTrapFlag();
    {
      auto packet = writer_->NewTracePacket();
      packet->AppendVarInt(1, num_finished_);
      packet->BeginNestedMessage<Message>(2)->AppendBytes(1, text_.data(),
                                                          size);
    }
    num_finished_ = num_finished_ + 1;
    ClearTrapFlag();
  }

  // Looks at what a process would leave that was killed now.
  void OnInstruction() {
    ++num_instructions_;
    if (!error_.empty())
      return;
    uint32_t next = first_;
    bool is_first = true;
    RingReader reader(abi_);
    reader.ReadPackets([&](const RingReader::Packet& packet) {
      ProtoDecoder decoder(packet.bytes);
      const uint32_t number = decoder.FindField(1).as_uint32();
      const std::string_view text =
          ProtoDecoder(decoder.FindField(2).as_bytes())
              .FindField(1)
              .as_string()
              .ToStdStringView();
      if (is_first ? number < first_ : number != next)
        error_ = "a packet is missing, or there again";
      if (text.size() != SizeOf(number) ||
          text.find_first_not_of('x') != std::string_view::npos) {
        error_ = "a packet is torn";
      }
      if (is_first)
        first_ = number;
      is_first = false;
      next = number + 1;
    });
    if (next < num_finished_ || next > num_finished_ + 1)
      error_ = "the last packet is missing";
    if (reader.stats().packets_unfinished > 1 ||
        reader.stats().chunks_corrupt != 0) {
      error_ = "a packet is counted twice, or a chunk makes no sense";
    }
    if (!error_.empty())
      error_ += " at packet " + std::to_string(num_finished_);
  }

  const std::string& error() const { return error_; }
  uint64_t num_instructions() const { return num_instructions_; }
  uint32_t first() const { return first_; }

 private:
  // Returns the size of a packet's text, which is in a message of its own. Some
  // packets need two chunks.
  static size_t SizeOf(uint32_t number) {
    return number % 8 == 7 ? 5000 : 100 + number * 37 % 500;
  }

  SharedMemory memory_{kPages * kPageSize};
  const ABI abi_{memory_.start(), memory_.size(), kPageSize};
  RingState state_{};
  RingLosses losses_{};
  RingEndpoint endpoint_{abi_, &state_, &losses_};
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::unique_ptr<TraceWriter> writer_;
  const std::string text_ = std::string(kMaxSize, 'x');
  volatile uint32_t num_finished_ = 0;
  // The first packet that was there last.
  uint32_t first_ = 0;
  std::string error_;
  uint64_t num_instructions_ = 0;
};

SteppedRing* g_ring = nullptr;

TEST(RingInstructionTest, WhatWasFinishedIsThereAfterEachInstruction) {
  if (kHasSanitizer)
    GTEST_SKIP() << "an instruction takes too long";
  SteppedRing ring;
  g_ring = &ring;
  struct sigaction action = {};
  struct sigaction before;
  action.sa_handler = [](int) { g_ring->OnInstruction(); };
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  for (uint32_t i = 0; i < 60 && ring.error().empty(); ++i)
    ring.Write();
  sigaction(SIGTRAP, &before, nullptr);
  EXPECT_EQ(ring.error(), "");
  EXPECT_GT(ring.num_instructions(), 1000u);
  // The ring has wrapped.
  EXPECT_GT(ring.first(), 0u);
}

#endif

}  // namespace
}  // namespace protozero::test
