// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The message of a workload, and the number of ways in which it is measured.

#ifndef TEST_BENCHMARKS_WORKLOAD_H_
#define TEST_BENCHMARKS_WORKLOAD_H_

#include <stddef.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/benchmarks/input_cycle.h"
#include "test/benchmarks/trace_corpus.h"

namespace protozero {
namespace bench {

// Where the code of an encoder is when a message begins.
enum class CodeIn {
  kL1,      // where the message before left it
  kL2,      // evicted from the first-level cache
  kBeyond,  // and from the second-level cache, as are all data
};

struct Harness {
  const char* suffix;  // of the benchmark's name
  size_t ring_size;    // bytes of output memory, used slot after slot, where
                       // the slot is not larger
  bool random_inputs;  // see Workload
  bool reads_back;     // see Batch
  CodeIn code_in;
};

// A trace buffer in use: the output is never in the cache when it is written,
// and because all of it is read, neither the compiler nor the processor can
// drop a store. Reading takes most of the time, and much of a fast encoder's
// work hides behind it.
extern const Harness kRingHarness;
// The encoder alone: output that fits the first-level cache, not read.
// Subtract the Empty row to be rid of the loop and the call.
extern const Harness kL1Harness;
// The same without the luck of predictable branches.
extern const Harness kL1RandomHarness;
// The encoder in a program that does other things between two messages: a few,
// or many.
extern const Harness kColdHarness;
extern const Harness kColdL2Harness;
// As L1, for messages of every size.
extern const Harness kSizeHarness;

struct Workload {
  // Its name among the encoders.
  std::string name;
  // Appended to the benchmark's name: the size, where several workloads differ
  // in nothing else.
  std::string argument;
  // The memory that one message gets; a power of two from 64 on.
  size_t slot_size;
  // Random or constant. Most workloads have but one kind of inputs.
  std::function<std::unique_ptr<AnyInputCycle>(bool random)> make_inputs;
  std::vector<const Harness*> harnesses;
};

// Without `corpus`, those that need no trace.
std::vector<Workload> AllWorkloads(
    const std::shared_ptr<const TraceCorpus>& corpus);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_WORKLOAD_H_
