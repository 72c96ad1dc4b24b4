// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The two floors of the comparison: SpeedOfLight, the least that could be
// called writing the fields down, and Empty, the harness alone.

#include <string.h>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"

namespace protozero {
namespace bench {

namespace {

// Stores each field in a 64-bit slot of its own. No bounds, no tags, no
// encoding. The size of a string it learns at run time, like everybody.
class SlotWriter {
 public:
  explicit SlotWriter(uint8_t* begin)
      : slot_(reinterpret_cast<uint64_t*>(begin)) {}

  void set_field_int32(int32_t value) {
    Store(static_cast<uint64_t>(int64_t{value}));
  }
  void set_field_uint32(uint32_t value) { Store(value); }
  void set_field_int64(int64_t value) { Store(static_cast<uint64_t>(value)); }
  void set_field_uint64(uint64_t value) { Store(value); }
  // A string has no more bytes than its size, which nobody knows when
  // compiling: reading on to the end of a slot is not for a serializer to do.
  void set_field_string(const char* data, size_t size) {
    memcpy(slot_, data, size);
    slot_ += (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  }

  // A nested message leaves no trace in the slots: its fields follow.
  SlotWriter* set_field_nested() { return this; }

  const uint64_t* slot() const { return slot_; }

 private:
  // Volatile, so that it is one store per slot with every compiler: whether one
  // merges some of them into vectors makes a difference of 20 % to a row that
  // all others are compared with.
  void Store(uint64_t value) {
    *const_cast<volatile uint64_t*>(slot_++) = value;
  }

  uint64_t* slot_;
};

template <typename Workload>
class SpeedOfLightEncoder final
    : public EncoderWithLoop<SpeedOfLightEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t) override {
    SlotWriter writer(begin);
    Workload::Fill(&writer, event);
    return static_cast<size_t>(reinterpret_cast<const uint8_t*>(writer.slot()) -
                               begin);
  }
};

class EmptyEncoder final : public EncoderWithLoop<EmptyEncoder> {
 public:
  size_t Encode(const Event*, uint8_t*, size_t) override { return 0; }
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<EmptyEncoder>(Workload::kName, "Empty", encoders,
                           OutputFormat::kNone);
  AddEncoder<SpeedOfLightEncoder<Workload>>(Workload::kName, "SpeedOfLight",
                                            encoders, OutputFormat::kSlots);
}

}  // namespace

void AddFloorEncoders(EncoderList* encoders) {
  AddWorkload<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
}

}  // namespace bench
}  // namespace protozero
