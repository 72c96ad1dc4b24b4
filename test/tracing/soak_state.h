// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_SOAK_STATE_H_
#define TEST_TRACING_SOAK_STATE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

#include "protozero/tracing/loss_reason.h"
#include "test/testing/sanitizers.h"

// The processes of the soak test, and the memory by which they hear of each
// other. It outlives each of them.

namespace protozero::test {

inline constexpr size_t kSoakProducers = 10;
inline constexpr size_t kSoakThreads = 2;
// Lives of the service.
inline constexpr size_t kMaxSoakLives = 8192;
inline constexpr char kSoakStallingSourceName[] = "test.soak.stalling";
// What the service keeps of well-behaved producers, and of the others.
inline constexpr size_t kSoakBufferSize = 4 << 20;
inline constexpr size_t kSoakHostileBufferSize = 1 << 20;
// In DataSourceConfig::raw_fields: which life of the service a packet is for.
inline constexpr uint32_t kSoakLifeFieldId = 9000;

inline constexpr size_t kNumSoakAttacks = 12;

// What is short: descriptors in one life of the service, places in the next.
// The attacks that hold connections leave no descriptor; between them there are
// some.
inline constexpr size_t kSoakDescriptors = 224;
inline constexpr size_t kSoakPlaces = 40;
inline constexpr size_t kSoakPlacesPerProcess = 12;
// For a producer that does not read.
inline constexpr size_t kSoakQueuedBytes = 64 << 10;

// What the service may have of its own, without what producers share with it:
// the buffers, and a megabyte each for what it knows of writers; for each
// descriptor's connection a frame of 128 KB, and answers; and 16 MB for the
// program, the trace that it checks, and what the allocator does not give back.
inline constexpr size_t kMaxSoakServiceBytes =
    kSoakBufferSize + kSoakHostileBufferSize + (2 << 20) +
    kSoakDescriptors * ((128 << 10) + kSoakQueuedBytes) + (16 << 20);

// A sanitizer needs address space and memory of its own.
inline constexpr bool kSoakLimitsMemory = !kHasSanitizer;

// What a thread of a well-behaved producer says of itself, during one life of
// the service. Processes that follow each other continue it.
struct SoakAccount {
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> lost[kNumWriterLossReasons];
  // Of |lost|, those that the service has heard of for certain.
  std::atomic<uint64_t> reported;

  uint64_t total_lost() const {
    uint64_t sum = 0;
    for (const std::atomic<uint64_t>& number : lost)
      sum += number;
    return sum;
  }
};

// What the service says of one of its lives.
struct SoakReport {
  std::atomic<uint64_t> received;
  // Packets that are not what was written, or come twice, or late.
  std::atomic<uint64_t> errors;
  // The ledger, if that life had an orderly end.
  std::atomic<bool> is_closed;
  uint64_t packets_begun;
  uint64_t packets_read;
  PacketLosses lost;
  uint64_t unknown_losses;
  uint64_t abi_violations;
};

struct SoakSlot {
  SoakAccount accounts[kSoakThreads][kMaxSoakLives];
  // How often its threads have had an answer to what they committed.
  std::atomic<uint64_t> num_answers;
  // Its Producer::OffReason, some milliseconds ago.
  std::atomic<int> off_reason;
  // The pause that each thread is in.
  std::atomic<uint32_t> paused[kSoakThreads];
};

struct SoakState {
  static constexpr size_t kLatencies = 40;

  // The current life of the service, from 1. Changes before it begins.
  std::atomic<uint32_t> life;
  std::atomic<bool> service_ends;
  std::atomic<bool> producers_end;
  // Which pause well-behaved threads are to make; 0 for none.
  std::atomic<uint32_t> pause;
  std::atomic<uint32_t> next_stream;
  // Of commits: how many took less than 2^n microseconds, and the longest.
  std::atomic<uint64_t> latencies[kLatencies];
  std::atomic<uint64_t> max_latency_us;
  std::atomic<uint64_t> num_attacks[kNumSoakAttacks];
  // What the service lacked: turns without a descriptor for those who wait,
  // places that were refused or taken away, and producers without memory.
  std::atomic<uint64_t> turns_without_descriptor;
  std::atomic<uint64_t> places_refused;
  std::atomic<uint64_t> producers_without_memory;

  SoakSlot slots[kSoakProducers];
  SoakReport reports[kMaxSoakLives];
};

// What runs in child processes, until |state| says that it ends.

struct SoakServiceOptions {
  std::string socket;
  // Instead of many places and few descriptors, few places.
  bool has_few_places;
  uint64_t seed;
};
void RunSoakService(const SoakServiceOptions& options, SoakState* state);

// How the process of a producer ends, by its exit code.
enum class SoakProducerEnd : int {
  kOrderly = 0,
  kFault = 1,
  // The service had no memory to share, and will have some for those that ask
  // again.
  kNoMemory = 3,
};
void RunSoakProducer(const std::string& socket,
                     size_t slot,
                     uint64_t seed,
                     SoakState* state);

struct SoakAttack {
  const char* what;
  size_t num_processes;
  // Goes on until it is killed, whether there is a service at |socket| or not,
  // and counts.
  void (*attack)(const std::string& socket,
                 uint64_t seed,
                 std::atomic<uint64_t>* count);
};
extern const SoakAttack kSoakAttacks[kNumSoakAttacks];

}  // namespace protozero::test

#endif  // TEST_TRACING_SOAK_STATE_H_
