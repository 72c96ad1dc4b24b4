// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// What is compared: encoders, one for every pair of a workload (the shape of
// the message) and an implementation (the library that writes it). Each
// implementation has a file of its own that adds its encoders to a list; the
// benchmark multiplies the list by the ways to measure (harness.h), the test
// checks every entry against libprotobuf.
//
// To add a workload: a Fill function in fill.h for the implementations that
// share the generated API, one in mapbox_encoders.cc, one in
// nanopb_encoders.cc, and a line in the Add...Encoders function of each; then a
// reference message in the test. To add an implementation: a file and a line in
// AllEncoders().

#ifndef TEST_BENCHMARKS_ENCODER_H_
#define TEST_BENCHMARKS_ENCODER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "test/benchmarks/event.h"
#include "test/benchmarks/output_ring.h"

namespace protozero {
namespace bench {

// How deep the Nested workload goes, the outermost message included. It
// consumes that many events, one per level.
constexpr size_t kNestedDepth = 4;
static_assert(kNestedDepth <= EventCycle::kOverlap,
              "the last event of a cycle starts a message too");

// A number of messages to encode, from consecutive events to consecutive
// slots. All of it is known at run time only.
struct Batch {
  const EventCycle* events;
  OutputRing* ring;
  size_t slot_size;
  size_t first;  // index of the first message's event and slot
  size_t count;
  bool reads_back;  // every byte of the slot, after each message
};

// One implementation of one workload. Keeps from message to message what its
// users would keep. One thread at a time.
class Encoder {
 public:
  virtual ~Encoder();

  // Everything that an implementation has to do to turn the event into
  // `begin[0..returned)`, including what it must set up and tear down per
  // message. REQUIRES: the message fits in `capacity`, begin is 8-byte aligned.
  virtual size_t Encode(const Event* event,
                        uint8_t* begin,
                        size_t capacity) = 0;

  // Encodes the batch and returns the size of all its messages.
  virtual size_t EncodeBatch(const Batch& batch) = 0;
};

// The base of encoders: class MyEncoder : public EncoderWithLoop<MyEncoder>.
// Gives each of them the loop that it is measured in. One loop for all of them
// would have to call through the vtable, which costs more than the fastest of
// them takes, and, depending on what the branch predictor has seen before, not
// even the same in every repetition.
template <typename T>
class EncoderWithLoop : public Encoder {
 public:
  size_t EncodeBatch(const Batch& batch) final {
    return batch.reads_back ? Loop<true>(batch) : Loop<false>(batch);
  }

 private:
  template <bool kReadsBack>
  size_t Loop(const Batch& batch) {
    size_t bytes = 0;
    for (size_t i = batch.first; i != batch.first + batch.count; ++i) {
      OutputRing::Slot* slot = batch.ring->At(i);
      bytes += EncodeOutOfLine(static_cast<T*>(this), batch.events->At(i),
                               slot->begin(), batch.slot_size);
      if (kReadsBack) {
        // Into a register that nobody looks at, but the compiler cannot know.
        OutputRing::Word sum = slot->ReadBack();
        asm volatile("" : : "x"(sum) : "memory");
      }
    }
    return bytes;
  }

  // Not inlined, so that no encoder is optimized for the loop around it.
  __attribute__((noinline)) static size_t EncodeOutOfLine(T* encoder,
                                                          const Event* event,
                                                          uint8_t* begin,
                                                          size_t capacity) {
    const size_t size = encoder->T::Encode(event, begin, capacity);
    // The output is wanted, and the call is not empty.
    asm volatile("" : : : "memory");
    return size;
  }
};

enum class OutputFormat {
  kProtobuf,
  kSlots,  // 64-bit words, in field order: no format, but the least work.
  kNone,
};

struct EncoderEntry {
  std::string workload;
  std::string implementation;
  OutputFormat format;
  std::unique_ptr<Encoder> (*create)();
};
using EncoderList = std::vector<EncoderEntry>;

template <typename T>
void AddEncoder(const char* workload,
                const char* implementation,
                EncoderList* encoders,
                OutputFormat format = OutputFormat::kProtobuf) {
  encoders->push_back(
      {workload, implementation, format,
       []() -> std::unique_ptr<Encoder> { return std::make_unique<T>(); }});
}

void AddFloorEncoders(EncoderList* encoders);
void AddProtozeroEncoders(EncoderList* encoders);
void AddLibprotobufEncoders(EncoderList* encoders);
void AddMapboxEncoders(EncoderList* encoders);
void AddNanopbEncoders(EncoderList* encoders);

// Of all implementations, floor first.
EncoderList AllEncoders();

// "name version" of each peer library, for the record of a run.
const char* MapboxVersion();
const char* NanopbVersion();
std::string LibprotobufVersion();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_ENCODER_H_
