// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The message of a workload, and the ways in which it is measured.

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

// The place of an encoder's code when a message begins.
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

// A trace buffer in use. The output is never in the cache when it is written.
// All of it is read, so neither the compiler nor the processor can drop a
// store. Reading takes most of the time and hides much of a fast encoder's
// work.
extern const Harness kRingHarness;
// The encoder alone: the output fits the first-level cache and is not read.
// Subtract the Empty row to remove the cost of the loop and the call.
extern const Harness kL1Harness;
// The same with random inputs, so that branches are not predictable.
extern const Harness kL1RandomHarness;
// The encoder in a program that does other things between two messages: few in
// the first, many in the second.
extern const Harness kColdHarness;
extern const Harness kColdL2Harness;
// Like kL1Harness, for messages of every size.
extern const Harness kSizeHarness;

struct Workload {
  // Its name among the encoders.
  std::string name;
  // The suffix of the benchmark's name: the size, if several workloads differ
  // only in that.
  std::string argument;
  // The memory that one message gets; a power of two from 64 on.
  size_t slot_size;
  // Makes random or constant inputs. Most workloads have only one kind.
  std::function<std::unique_ptr<AnyInputCycle>(bool random)> make_inputs;
  std::vector<const Harness*> harnesses;
};

// Returns all workloads, or without `corpus` those that need no trace.
std::vector<Workload> AllWorkloads(
    const std::shared_ptr<const TraceCorpus>& corpus);

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_WORKLOAD_H_
