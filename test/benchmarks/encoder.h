// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The encoders that are compared, one for every pair of a workload (the shape
// of the message, and its inputs) and an implementation (the library that
// writes it). Each implementation has a file of its own that adds its encoders
// to a list; the benchmark multiplies the list by the ways to measure
// (harness.h), the test checks every entry against libprotobuf.
//
// A new workload needs its inputs (inputs.h) and a line in AllWorkloads(); a
// Fill function in fill.h for the implementations that share the generated API,
// one in mapbox_encoders.cc, one in nanopb_encoders.cc, and a line in the
// Add...Encoders function of each; then a reference message in the test. To add
// an implementation: a file and a line in AllEncoders().

#ifndef TEST_BENCHMARKS_ENCODER_H_
#define TEST_BENCHMARKS_ENCODER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/benchmarks/event.h"
#include "test/benchmarks/input_cycle.h"
#include "test/benchmarks/output_ring.h"

// Marks an encoder's own functions, which the benchmark calls from many places:
// each call is compiled as in a program that has only one. The library and the
// compiler decide whether their callees are inlined.
#define BENCH_INLINE inline __attribute__((always_inline))
// Marks functions that are not inlined. With gcc, it also keeps the compiler
// from using knowledge of a function for its callers, or of the callers for it.
#if defined(__clang__)
#define BENCH_NOT_INLINE __attribute__((noinline))
#else
#define BENCH_NOT_INLINE __attribute__((noipa))
#endif

namespace protozero {
namespace bench {

// The depth of the Nested workload, including the outermost message. Each level
// consumes one event.
constexpr size_t kNestedDepth = 4;
static_assert(kNestedDepth <= EventCycle::kOverlap,
              "the last event of a cycle starts a message too");

// The number of messages that are encoded between two tests of Google
// Benchmark's iteration count. It makes those tests take no measurable time.
constexpr size_t kMaxBatchSize = 64;

// A number of messages to encode, from consecutive inputs to consecutive slots.
// All its values are known at run time only.
struct Batch {
  const AnyInputCycle* inputs;
  OutputRing* ring;
  size_t slot_size;
  size_t first;     // index of the first message's input and slot
  size_t count;     // kMaxBatchSize at most, if it is read back
  bool reads_back;  // read every byte of the slot after each message
};

// One implementation of one workload. From message to message, it keeps what a
// user of the library would keep. REQUIRES: one thread at a time.
class Encoder {
 public:
  virtual ~Encoder();

  // Does the whole work of an implementation to turn an input into
  // `begin[0..returned)`, with its set-up and tear-down for each message.
  // REQUIRES: the inputs are those of the encoder's workload; the message fits
  // in `capacity`; begin is 8-byte aligned.
  virtual size_t Encode(const AnyInputCycle& inputs,
                        size_t index,
                        uint8_t* begin,
                        size_t capacity) = 0;

  // Encodes the batch and returns the size of all its messages.
  virtual size_t EncodeBatch(const Batch& batch) = 0;
};

// The base of encoders, which have a member function
//   size_t EncodeMessage(const Input* input, uint8_t* begin, size_t capacity);
// It gives each encoder its own loop. One loop for all of them would have to
// call through the vtable. That call costs more than the fastest encoder takes,
// and a different amount in each repetition, depending on the branch predictor.
template <typename T, typename Input>
class EncoderWithLoop : public Encoder {
 public:
  size_t Encode(const AnyInputCycle& inputs,
                size_t index,
                uint8_t* begin,
                size_t capacity) final {
    return EncodeOutOfLine(static_cast<T*>(this), Inputs(inputs).At(index),
                           begin, capacity);
  }

  size_t EncodeBatch(const Batch& batch) final {
    return batch.reads_back ? EncodeAndReadBack(batch) : EncodeOnly(batch);
  }

  // Calls EncodeMessage(). Each kSite has its own code: see CallSites.
  template <size_t kSite>
  __attribute__((noinline)) static size_t EncodeAtSite(
      Encoder* encoder,
      const AnyInputCycle& inputs,
      size_t index,
      uint8_t* begin,
      size_t capacity) {
    const size_t size = static_cast<T*>(encoder)->EncodeMessage(
        Inputs(inputs).At(index), begin, capacity);
    // The operand keeps compilers from merging the functions.
    asm volatile("" : : "i"(kSite) : "memory");
    return size;
  }

 private:
  static const InputCycle<Input>& Inputs(const AnyInputCycle& inputs) {
    return static_cast<const InputCycle<Input>&>(inputs);
  }

  size_t EncodeOnly(const Batch& batch) {
    const auto inputs = Inputs(*batch.inputs).elements();
    const auto slots = batch.ring->slots();
    const size_t slot_size = batch.slot_size;
    const size_t end = batch.first + batch.count;
    size_t bytes = 0;
    for (size_t i = batch.first; i != end; ++i) {
      bytes += EncodeOutOfLine(static_cast<T*>(this), inputs.At(i), slots.At(i),
                               slot_size);
    }
    return bytes;
  }

  // A batch, in the form that the steps of EncodeAndReadBack() need.
  struct Steps {
    T* encoder;
    typename InputCycle<Input>::Elements inputs;
    OutputRing::Slots slots;
    size_t slot_size;
    size_t first;
    size_t count;
  };

  // Unrolled. A loop would keep its counter and the address of the slots in
  // registers that some encoders save and restore. The address of the next slot
  // would then come from the stack, after stores that wait for memory, and a
  // row would take a third longer than one that needs one register less.
  // Instead, each step reads memory that does not change.
  size_t EncodeAndReadBack(const Batch& batch) {
    const Steps steps = {
        static_cast<T*>(this), Inputs(*batch.inputs).elements(),
        batch.ring->slots(),   batch.slot_size,
        batch.first,           batch.count};
    current_steps_ = &steps;
    return EncodeAndReadBackSteps(std::make_index_sequence<kMaxBatchSize>());
  }

  template <size_t... i>
  static size_t EncodeAndReadBackSteps(std::index_sequence<i...>) {
    size_t bytes = 0;
    (EncodeAndReadBackStep(i, &bytes) && ...);
    return bytes;
  }

  // Encodes message |i|. Returns false if the batch has no such message.
  BENCH_INLINE static bool EncodeAndReadBackStep(size_t i, size_t* bytes) {
    const Steps* const steps = current_steps_;
    if (i >= steps->count)
      return false;
    const size_t index = steps->first + i;
    *bytes += EncodeOutOfLine(steps->encoder, steps->inputs.At(index),
                              steps->slots.At(index), steps->slot_size);
    const Steps* const again = current_steps_;
    OutputRing::ReadBack(again->slots.At(again->first + i));
    return true;
  }

  // Not inlined, so that no encoder is optimized for the loop around it.
  __attribute__((noinline)) static size_t EncodeOutOfLine(T* encoder,
                                                          const Input* input,
                                                          uint8_t* begin,
                                                          size_t capacity) {
    const size_t size = encoder->EncodeMessage(input, begin, capacity);
    // The compiler must compute the output, and must not drop the call.
    asm volatile("" : : : "memory");
    return size;
  }

  // Volatile, so that the compiler does not keep its value in a register.
  static inline const Steps* volatile current_steps_ = nullptr;
};

// Copies a message in a string or a vector to the output. The floor of such
// messages copies as many bytes, so that rows have the cost of the message
// alone.
template <typename Bytes>
BENCH_INLINE size_t CopyString(const Bytes& bytes, uint8_t* begin) {
  const void* data = bytes.data();
  // The compiler must make the string, and cannot copy from elsewhere.
  asm volatile("" : "+r"(data) : : "memory");
  memcpy(begin, data, bytes.size());
  return bytes.size();
}

// The same message, written by different pieces of code. Instrumentation is
// spread over a program in this way: its call sites share only the library's
// out-of-line code.
using CallSite = size_t (*)(Encoder* encoder,
                            const AnyInputCycle& inputs,
                            size_t index,
                            uint8_t* begin,
                            size_t capacity);
constexpr size_t kCallSites = 32;
using CallSites = std::array<CallSite, kCallSites>;

template <typename T, size_t... kSite>
constexpr CallSites MakeCallSites(std::index_sequence<kSite...>) {
  return {&T::template EncodeAtSite<kSite>...};
}

enum class OutputFormat {
  kProtobuf,
  kSlots,  // 64-bit words in field order: not a format, but the least work.
  kSlotsAndCursors,  // The same, and after each message a word for its cursor.
  kNone,
};

struct EncoderEntry {
  std::string workload;
  std::string implementation;
  OutputFormat format;
  std::unique_ptr<Encoder> (*create)();
  // Null for encoders that are not measured with cold code. The call sites
  // would be a lot of code.
  const CallSites* call_sites;
};
using EncoderList = std::vector<EncoderEntry>;

template <typename T>
void AddEncoder(const char* workload,
                const char* implementation,
                EncoderList* encoders,
                OutputFormat format = OutputFormat::kProtobuf) {
  encoders->push_back(
      {workload, implementation, format,
       []() -> std::unique_ptr<Encoder> { return std::make_unique<T>(); },
       nullptr});
}

// Adds an encoder that is measured with cold code, too.
template <typename T>
void AddEncoderWithCallSites(const char* workload,
                             const char* implementation,
                             EncoderList* encoders,
                             OutputFormat format = OutputFormat::kProtobuf) {
  static constexpr CallSites kSites =
      MakeCallSites<T>(std::make_index_sequence<kCallSites>());
  AddEncoder<T>(workload, implementation, encoders, format);
  encoders->back().call_sites = &kSites;
}

void AddFloorEncoders(EncoderList* encoders);
void AddProtozeroEncoders(EncoderList* encoders);
// Adds the encoders with setters that are function calls.
void AddCalledEncoders(EncoderList* encoders);
// Add the encoders of messages that end in a string, with setters in place and
// with setters that are calls.
void AddStringEncoders(EncoderList* encoders);
void AddCalledStringEncoders(EncoderList* encoders);
// Adds the encoders with the functions that are generated for C.
void AddCEncoders(EncoderList* encoders);
void AddLibprotobufEncoders(EncoderList* encoders);
void AddMapboxEncoders(EncoderList* encoders);
void AddNanopbEncoders(EncoderList* encoders);
// Adds Perfetto's encoders. Defined only in programs with WITH_PERFETTO_SDK.
void AddPerfettoEncoders(EncoderList* encoders);

// Returns the encoders of all implementations, the floor first.
EncoderList AllEncoders();

// Returns "name version" of a peer library.
const char* MapboxVersion();
const char* NanopbVersion();
std::string LibprotobufVersion();
// Returns that of Perfetto. Defined only in programs with WITH_PERFETTO_SDK.
std::string PerfettoVersion();

// Returns those of all peers, for the record of a run.
std::string PeerVersions();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_ENCODER_H_
