// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The decoders that are compared, one for every pair of a workload (the shape
// of the message) and an implementation (the library that reads it, and how).
// They look at every field that is set and add up all values; the test checks
// that the sums are equal.
//
// Each implementation has a file of its own, as with the encoders (encoder.h).

#ifndef TEST_BENCHMARKS_DECODER_H_
#define TEST_BENCHMARKS_DECODER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

namespace protozero {
namespace bench {

// Messages of a workload as they are on the wire, one after the other.
class EncodedMessages {
 public:
  struct View {
    const uint8_t* data;
    size_t size;
  };

  // REQUIRES: the number of sizes is a power of two, and they add up to the
  // number of bytes.
  EncodedMessages(std::vector<uint8_t> bytes, const std::vector<size_t>& sizes);

  // Returns the number of different messages, a power of two.
  size_t size() const { return views_.size(); }
  size_t bytes() const { return bytes_.size(); }
  // Returns the message of that index; an index past the end starts again.
  const View& At(size_t index) const {
    return views_[index & (views_.size() - 1)];
  }

 private:
  const std::vector<uint8_t> bytes_;
  std::vector<View> views_;
};

struct DecodeWorkload {
  std::string name;
  // Appended to the benchmark's name.
  std::string suffix;
  std::unique_ptr<EncodedMessages> (*make_messages)(const DecodeWorkload&);
};

// Simple, Nested, ThirtyFields, Children, PackedVarints: what libprotobuf
// writes for the encoders' inputs of that name. Trace10MB: a trace of the shape
// that examples/ninja_trace writes, one message of 10 MB.
std::vector<DecodeWorkload> AllDecodeWorkloads();

// Returns a trace with two messages of every kind of packet, for the test, too.
std::string MakeTrace(size_t bytes);

class Decoder {
 public:
  virtual ~Decoder();

  // Returns the sum of all fields of a message. Adds numbers, sign-extended to
  // 64 bits if they are signed; the bits of floating-point numbers; and the
  // size and the first byte of strings.
  virtual uint64_t Decode(const EncodedMessages::View& message) = 0;

  // Decodes |count| messages and returns the sum of all.
  virtual uint64_t DecodeBatch(const EncodedMessages& messages,
                               size_t first,
                               size_t count) = 0;
};

// The base of decoders, which have a member function
//   uint64_t DecodeMessage(const uint8_t* data, size_t size);
// It gives each decoder its own loop to be measured in, see EncoderWithLoop.
template <typename T>
class DecoderWithLoop : public Decoder {
 public:
  uint64_t Decode(const EncodedMessages::View& message) final {
    return DecodeOutOfLine(static_cast<T*>(this), message);
  }

  uint64_t DecodeBatch(const EncodedMessages& messages,
                       size_t first,
                       size_t count) final {
    uint64_t sum = 0;
    for (size_t i = first; i != first + count; ++i)
      sum += DecodeOutOfLine(static_cast<T*>(this), messages.At(i));
    return sum;
  }

 private:
  __attribute__((noinline)) static uint64_t DecodeOutOfLine(
      T* decoder,
      const EncodedMessages::View& message) {
    return decoder->DecodeMessage(message.data, message.size);
  }
};

struct DecoderEntry {
  std::string workload;
  std::string implementation;
  std::unique_ptr<Decoder> (*create)();
};
using DecoderList = std::vector<DecoderEntry>;

template <typename T>
void AddDecoder(const char* workload,
                const char* implementation,
                DecoderList* decoders) {
  decoders->push_back(
      {workload, implementation,
       []() -> std::unique_ptr<Decoder> { return std::make_unique<T>(); }});
}

void AddProtozeroDecoders(DecoderList* decoders);
void AddLibprotobufDecoders(DecoderList* decoders);
void AddMapboxDecoders(DecoderList* decoders);

DecoderList AllDecoders();

// Returns the summand for a field.
inline uint64_t Term(int32_t value) {
  return static_cast<uint64_t>(int64_t{value});
}
inline uint64_t Term(int64_t value) {
  return static_cast<uint64_t>(value);
}
inline uint64_t Term(uint32_t value) {
  return value;
}
inline uint64_t Term(uint64_t value) {
  return value;
}
inline uint64_t Term(bool value) {
  return value;
}
inline uint64_t Term(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t Term(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t Term(const char* data, size_t size) {
  return size == 0 ? 0 : size + static_cast<uint8_t>(data[0]);
}

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_DECODER_H_
