// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The floors of the comparison. SpeedOfLight is the floor of Perfetto's
// benchmark, and our aims are multiples of it. Slots does the least work that
// writes all fields down. Empty is the harness alone.

#include <string.h>

#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"

namespace protozero {
namespace bench {

namespace {

// A writer that stores each field in a 64-bit slot of its own, without bounds,
// tags or encoding. It learns the size of a string at run time, as all encoders
// do.
class SlotWriter {
 public:
  explicit SlotWriter(uint8_t* begin)
      : slot_(reinterpret_cast<uint64_t*>(begin)) {}

  // Compilers do not know the size of a string. A serializer must not read past
  // it to the end of the slot.
#define BENCH_DEFINE_BYTES(name)                          \
  BENCH_INLINE void name(const void* data, size_t size) { \
    CopyBytes(data, size);                                \
  }
#define BENCH_DEFINE_SCALAR(name, type) \
  BENCH_INLINE void name(type value) { Store(Bits(value)); }
  BENCH_DEFINE_SCALAR(set_field_int32, int32_t)
  BENCH_DEFINE_SCALAR(set_field_uint32, uint32_t)
  BENCH_DEFINE_SCALAR(set_field_int64, int64_t)
  BENCH_DEFINE_SCALAR(set_field_uint64, uint64_t)

  BENCH_DEFINE_SCALAR(set_value1, uint64_t)
  BENCH_DEFINE_SCALAR(set_value2, uint64_t)
  BENCH_DEFINE_SCALAR(set_value3, uint64_t)
  BENCH_DEFINE_SCALAR(set_value4, uint64_t)
  BENCH_DEFINE_SCALAR(set_value5, uint64_t)
  BENCH_DEFINE_SCALAR(set_value6, uint64_t)
  BENCH_DEFINE_SCALAR(set_value7, uint64_t)
  BENCH_DEFINE_SCALAR(set_value8, uint64_t)

#define BENCH_DEFINE_FIFTEEN_FIELDS(suffix)           \
  BENCH_DEFINE_SCALAR(set_int32_##suffix, int32_t)    \
  BENCH_DEFINE_SCALAR(set_uint32_##suffix, uint32_t)  \
  BENCH_DEFINE_SCALAR(set_int64_##suffix, int64_t)    \
  BENCH_DEFINE_SCALAR(set_uint64_##suffix, uint64_t)  \
  BENCH_DEFINE_SCALAR(set_sint32_##suffix, int32_t)   \
  BENCH_DEFINE_SCALAR(set_sint64_##suffix, int64_t)   \
  BENCH_DEFINE_SCALAR(set_fixed32_##suffix, uint32_t) \
  BENCH_DEFINE_SCALAR(set_fixed64_##suffix, uint64_t) \
  BENCH_DEFINE_SCALAR(set_sfixed32_##suffix, int32_t) \
  BENCH_DEFINE_SCALAR(set_sfixed64_##suffix, int64_t) \
  BENCH_DEFINE_SCALAR(set_float_##suffix, float)      \
  BENCH_DEFINE_SCALAR(set_double_##suffix, double)    \
  BENCH_DEFINE_SCALAR(set_bool_##suffix, bool)        \
  BENCH_DEFINE_SCALAR(set_enum_##suffix, int)         \
  BENCH_DEFINE_BYTES(set_string_##suffix)
  BENCH_DEFINE_FIFTEEN_FIELDS(a)
  BENCH_DEFINE_FIFTEEN_FIELDS(b)
  BENCH_DEFINE_BYTES(set_field_string)
  BENCH_DEFINE_BYTES(set_data)
  BENCH_DEFINE_BYTES(set_name)
  BENCH_DEFINE_BYTES(set_payload)
  BENCH_DEFINE_BYTES(set_process_name)
  BENCH_DEFINE_BYTES(set_string_value)
#undef BENCH_DEFINE_FIFTEEN_FIELDS
#undef BENCH_DEFINE_BYTES

  BENCH_DEFINE_SCALAR(set_id, uint32_t)
  BENCH_DEFINE_SCALAR(set_value, uint64_t)
  BENCH_DEFINE_SCALAR(set_time, uint64_t)

  BENCH_DEFINE_SCALAR(add_category_iids, uint64_t)
  BENCH_DEFINE_SCALAR(set_child_ordering, int)
  BENCH_DEFINE_SCALAR(set_first_packet_on_sequence, bool)
  BENCH_DEFINE_SCALAR(set_iid, uint64_t)
  BENCH_DEFINE_SCALAR(set_int_value, int64_t)
  BENCH_DEFINE_SCALAR(set_name_iid, uint64_t)
  BENCH_DEFINE_SCALAR(set_parent_uuid, uint64_t)
  BENCH_DEFINE_SCALAR(set_pid, int32_t)
  BENCH_DEFINE_SCALAR(set_pointer_value, uint64_t)
  BENCH_DEFINE_SCALAR(set_sequence_flags, uint32_t)
  BENCH_DEFINE_SCALAR(set_sibling_order_rank, int32_t)
  BENCH_DEFINE_SCALAR(set_timestamp, uint64_t)
  BENCH_DEFINE_SCALAR(set_track_uuid, uint64_t)
  BENCH_DEFINE_SCALAR(set_trusted_packet_sequence_id, uint32_t)
  BENCH_DEFINE_SCALAR(set_type, int)
  BENCH_DEFINE_SCALAR(set_uuid, uint64_t)
#undef BENCH_DEFINE_SCALAR

  void CopyBytes(const void* data, size_t size) {
    memcpy(slot_, data, size);
    slot_ += (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  }

  // A nested message leaves no trace in the slots: its fields follow.
  SlotWriter* set_field_nested() { return this; }
  SlotWriter* add_child() { return this; }
  SlotWriter* add_record() { return this; }
  SlotWriter* add_array_values() { return this; }
  SlotWriter* add_debug_annotation_names() { return this; }
  SlotWriter* add_debug_annotations() { return this; }
  SlotWriter* add_event_categories() { return this; }
  SlotWriter* set_interned_data() { return this; }
  SlotWriter* set_process() { return this; }
  SlotWriter* set_track_descriptor() { return this; }
  SlotWriter* set_track_event() { return this; }

  const uint64_t* slot() const { return slot_; }

 private:
  template <typename T>
  static uint64_t Bits(T value) {
    if constexpr (std::is_floating_point<T>::value) {
      uint64_t bits = 0;
      memcpy(&bits, &value, sizeof(value));
      return bits;
    } else {
      return static_cast<uint64_t>(value);
    }
  }

  // Volatile, so that every compiler makes one store per slot. A compiler that
  // merges some stores into vectors changes this row by 20 %, and all other
  // rows are compared with this one.
  void Store(uint64_t value) {
    *const_cast<volatile uint64_t*>(slot_++) = value;
  }

  uint64_t* slot_;
};

// The floor of Perfetto's benchmark, built from its description. A message is
// an object in the output that has its own cursor in memory. It stores each
// field in a slot of its own, and copies a string up to its terminator. A
// nested message begins after it.
class SlotMessage {
 public:
  void set_field_int32(int32_t value) { Append(int64_t{value}); }
  void set_field_uint32(uint32_t value) { Append(uint64_t{value}); }
  void set_field_int64(int64_t value) { Append(value); }
  void set_field_uint64(uint64_t value) { Append(value); }
  void set_field_string(const char* string, size_t) {
    cursor_ = strcpy(cursor_, string);
  }
  SlotMessage* set_field_nested() { return new (this + 1) SlotMessage; }

 private:
  template <typename T>
  void Append(T value) {
    memcpy(cursor_, &value, sizeof(value));
    cursor_ += sizeof(uint64_t);
  }

  alignas(uint64_t) char slots_[(4 + kStringSlots) * sizeof(uint64_t)];
  char* cursor_ = slots_;
};
static_assert(sizeof(SlotMessage) == (4 + kStringSlots + 1) * sizeof(uint64_t));

template <typename Workload, size_t num_messages>
class SlotMessageEncoder final
    : public EncoderWithLoop<SlotMessageEncoder<Workload, num_messages>,
                             typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t) {
    Workload::Fill(new (begin) SlotMessage, input);
    return num_messages * sizeof(SlotMessage);
  }
};

// Copying an array is as fast as the memory.
struct PackedVarintsWorkload {
  static constexpr const char* kName = "PackedVarints";
  using Input = PackedInput;

  static void Fill(SlotWriter* writer, const PackedInput* input) {
    writer->CopyBytes(input->values, input->count * sizeof(uint64_t));
  }
};

struct PackedFixed64Workload : PackedVarintsWorkload {
  static constexpr const char* kName = "PackedFixed64";
};

template <typename Workload>
class SlotsEncoder final
    : public EncoderWithLoop<SlotsEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t) {
    SlotWriter writer(begin);
    Workload::Fill(&writer, input);
    return static_cast<size_t>(reinterpret_cast<const uint8_t*>(writer.slot()) -
                               begin);
  }
};

template <typename Workload>
class EmptyEncoder final
    : public EncoderWithLoop<EmptyEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input*,
                                    uint8_t*,
                                    size_t) {
    return 0;
  }
};

// Copies as many bytes as the other rows do once they have a string.
class StringFloor final : public EncoderWithLoop<StringFloor, ReplyInput> {
 public:
  StringFloor() : string_(2 * kLargestReply, 'x') {}

  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    CopyString(std::string_view(string_.data(), input->size), begin);
    return 0;
  }

 private:
  const std::string string_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<EmptyEncoder<Workload>>(Workload::kName, "Empty", encoders,
                                     OutputFormat::kNone);
  AddEncoder<SlotsEncoder<Workload>>(Workload::kName, "Slots", encoders,
                                     OutputFormat::kSlots);
}

template <typename Workload>
void AddWorkloadWithCallSites(EncoderList* encoders) {
  AddEncoderWithCallSites<EmptyEncoder<Workload>>(
      Workload::kName, "Empty", encoders, OutputFormat::kNone);
  AddEncoderWithCallSites<SlotsEncoder<Workload>>(
      Workload::kName, "Slots", encoders, OutputFormat::kSlots);
}

}  // namespace

void AddFloorEncoders(EncoderList* encoders) {
  AddWorkloadWithCallSites<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
  AddWorkload<HelpersWorkload<>>(encoders);
  AddEncoderWithCallSites<SlotMessageEncoder<SimpleWorkload, 1>>(
      "Simple", "SpeedOfLight", encoders, OutputFormat::kSlotsAndCursors);
  AddEncoder<SlotMessageEncoder<NestedWorkload, kNestedDepth>>(
      "Nested", "SpeedOfLight", encoders, OutputFormat::kSlotsAndCursors);
  AddEncoder<SlotMessageEncoder<HelpersWorkload<>, kNestedDepth>>(
      "Helpers", "SpeedOfLight", encoders, OutputFormat::kSlotsAndCursors);
  AddWorkload<RandomVarintsWorkload>(encoders);
  AddWorkload<TimestampsWorkload>(encoders);
  AddWorkload<RandomBytesWorkload>(encoders);
  AddWorkload<ThirtyFieldsWorkload>(encoders);
  AddWorkload<ChildrenWorkload>(encoders);
  AddWorkload<PackedVarintsWorkload>(encoders);
  AddWorkload<PackedFixed64Workload>(encoders);
  AddWorkload<DeepWorkload>(encoders);
  AddWorkload<ChunksWorkload>(encoders);
  AddWorkloadWithCallSites<MixedCorpusWorkload>(encoders);
  AddWorkload<BytesWorkload>(encoders);
  AddEncoder<StringFloor>(StringWorkload::kName, "Empty", encoders,
                          OutputFormat::kNone);
}

}  // namespace bench
}  // namespace protozero
