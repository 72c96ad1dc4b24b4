// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/common.h>

#include <array>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {

namespace {

using ::protozero::benchmark::EveryField;

size_t Serialize(const EveryField& message, uint8_t* begin, size_t capacity) {
  if (!message.SerializeToArray(begin, static_cast<int>(capacity)))
    return 0;
  return static_cast<size_t>(message.GetCachedSize());
}

// A message per event, as most users write it.
template <typename Workload>
class FreshEncoder final : public EncoderWithLoop<FreshEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    EveryField message;
    Workload::Fill(&message, event);
    return Serialize(message, begin, capacity);
  }
};

// One message for all events: its strings and children keep their memory.
template <typename Workload>
class ReusedEncoder final : public EncoderWithLoop<ReusedEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    message_.Clear();
    Workload::Fill(&message_, event);
    return Serialize(message_, begin, capacity);
  }

 private:
  EveryField message_;
};

// An arena per event over a block that all events share. Measured against one
// arena that is reset after each event, this was the faster use.
template <typename Workload>
class ArenaEncoder final : public EncoderWithLoop<ArenaEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    google::protobuf::ArenaOptions options;
    options.initial_block = block_.data();
    options.initial_block_size = block_.size();
    google::protobuf::Arena arena(options);
    EveryField* message =
        google::protobuf::Arena::CreateMessage<EveryField>(&arena);
    Workload::Fill(message, event);
    return Serialize(*message, begin, capacity);
  }

 private:
  alignas(16) std::array<char, 16 * 1024> block_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<FreshEncoder<Workload>>(Workload::kName, "Libprotobuf", encoders);
  AddEncoder<ReusedEncoder<Workload>>(Workload::kName, "LibprotobufReused",
                                      encoders);
  AddEncoder<ArenaEncoder<Workload>>(Workload::kName, "LibprotobufArena",
                                     encoders);
}

}  // namespace

void AddLibprotobufEncoders(EncoderList* encoders) {
  AddWorkload<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
}

std::string LibprotobufVersion() {
  return "libprotobuf " +
         google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
}

}  // namespace bench
}  // namespace protozero
