// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_SOAK_STATE_H_
#define TEST_TRACING_SOAK_STATE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

#include "protozero/tracing/loss_reason.h"
#include "test/testing/sanitizers.h"

// The processes of the soak test, and the memory by which they know of each
// other. It outlives each of them.

namespace protozero::test {

inline constexpr size_t kSoakProducers = 10;
inline constexpr size_t kSoakThreads = 2;
// The limit of lives of the service.
inline constexpr size_t kMaxSoakLives = 8192;
inline constexpr char kSoakStallingSourceName[] = "test.soak.stalling";
// The sizes of the buffers of well-behaved producers, and of the others.
inline constexpr size_t kSoakBufferSize = 4 << 20;
inline constexpr size_t kSoakHostileBufferSize = 1 << 20;
// The field of DataSourceConfig::raw_fields with the service's life that a
// packet is for.
inline constexpr uint32_t kSoakLifeFieldId = 9000;

inline constexpr size_t kNumSoakAttacks = 12;

// The limits that are too low: of descriptors in one life of the service, of
// places in the next. The attacks that hold connections leave no descriptor;
// between the attacks there are some.
inline constexpr size_t kSoakDescriptors = 224;
inline constexpr size_t kSoakPlaces = 40;
inline constexpr size_t kSoakPlacesPerProcess = 12;
// The limit of bytes that wait for a producer that does not read.
inline constexpr size_t kSoakQueuedBytes = 64 << 10;

// The limit of the service's own memory, without the memory that producers
// share with it: the buffers, and a megabyte each for what it knows of writers;
// for each descriptor's connection a frame of 128 KB, and answers; and 16 MB
// for the program, the trace that it checks, and memory that the allocator
// keeps.
inline constexpr size_t kMaxSoakServiceBytes =
    kSoakBufferSize + kSoakHostileBufferSize + (2 << 20) +
    kSoakDescriptors * ((128 << 10) + kSoakQueuedBytes) + (16 << 20);

// False with a sanitizer, which needs address space and memory of its own.
inline constexpr bool kSoakLimitsMemory = !kHasSanitizer;

// The counts of a thread of a well-behaved producer, during one life of the
// service. Processes that follow each other continue them.
struct SoakAccount {
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> lost[kNumWriterLossReasons];
  // The part of |lost| that the service has certainly heard of.
  std::atomic<uint64_t> reported;

  uint64_t total_lost() const {
    uint64_t sum = 0;
    for (const std::atomic<uint64_t>& number : lost)
      sum += number;
    return sum;
  }
};

// The report of the service on one of its lives.
struct SoakReport {
  std::atomic<uint64_t> received;
  // The number of packets that have changed, or come twice, or late.
  std::atomic<uint64_t> errors;
  // The ledger of a life that had an orderly end.
  std::atomic<bool> is_closed;
  uint64_t packets_begun;
  uint64_t packets_read;
  PacketLosses lost;
  uint64_t unknown_losses;
  uint64_t abi_violations;
};

struct SoakSlot {
  SoakAccount accounts[kSoakThreads][kMaxSoakLives];
  // The number of answers that its threads have had to commits.
  std::atomic<uint64_t> num_answers;
  // Its Producer::OffReason some milliseconds ago.
  std::atomic<int> off_reason;
  // The pause that each thread is in.
  std::atomic<uint32_t> paused[kSoakThreads];
};

struct SoakState {
  static constexpr size_t kLatencies = 40;

  // The current life of the service, from 1. It changes before the life begins.
  std::atomic<uint32_t> life;
  std::atomic<bool> service_ends;
  std::atomic<bool> producers_end;
  // The number of the pause that well-behaved threads have to make; 0 for none.
  std::atomic<uint32_t> pause;
  std::atomic<uint32_t> next_stream;
  // The number of commits that took less than 2^n microseconds, and the longest
  // time.
  std::atomic<uint64_t> latencies[kLatencies];
  std::atomic<uint64_t> max_latency_us;
  std::atomic<uint64_t> num_attacks[kNumSoakAttacks];
  // The shortages of the service: turns without a descriptor for a client that
  // waits, places that were refused or taken away, and producers without
  // memory.
  std::atomic<uint64_t> turns_without_descriptor;
  std::atomic<uint64_t> places_refused;
  std::atomic<uint64_t> producers_without_memory;

  SoakSlot slots[kSoakProducers];
  SoakReport reports[kMaxSoakLives];
};

// The functions that run in child processes, until |state| says that they end.

struct SoakServiceOptions {
  std::string socket;
  // True for few places, instead of many places and few descriptors.
  bool has_few_places;
  uint64_t seed;
};
void RunSoakService(const SoakServiceOptions& options, SoakState* state);

// The way in which the process of a producer ends, by its exit code.
enum class SoakProducerEnd : int {
  kOrderly = 0,
  kFault = 1,
  // The service had no memory to share. It will have some for processes that
  // ask again.
  kNoMemory = 3,
};
void RunSoakProducer(const std::string& socket,
                     size_t slot,
                     uint64_t seed,
                     SoakState* state);

struct SoakAttack {
  const char* what;
  size_t num_processes;
  // Goes on until it is killed, with a service at |socket| or without, and
  // counts.
  void (*attack)(const std::string& socket,
                 uint64_t seed,
                 std::atomic<uint64_t>* count);
};
extern const SoakAttack kSoakAttacks[kNumSoakAttacks];

}  // namespace protozero::test

#endif  // TEST_TRACING_SOAK_STATE_H_
