// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protozero/c/pbz_writer.h"
#include "test/benchmarks/encoder.h"
#include "test/benchmarks/inputs.h"

namespace protozero {
namespace bench {

// nanopb's structs have these names, too.
namespace generated {
#include "test/protos/benchmark_messages.pbzero_c.h"
}  // namespace generated

namespace {

using namespace generated;  // NOLINT: as C has it.

using EveryField = protozero_benchmark_EveryField;

BENCH_INLINE void FillSimple(EveryField* message, const Event* event) {
  protozero_benchmark_EveryField_set_field_int32(message, event->number_int32);
  protozero_benchmark_EveryField_set_field_uint32(message,
                                                  event->number_uint32);
  protozero_benchmark_EveryField_set_field_int64(message, event->number_int64);
  protozero_benchmark_EveryField_set_field_uint64(message,
                                                  event->number_uint64);
  protozero_benchmark_EveryField_set_field_string_n(message, event->string,
                                                    event->string_size);
}

struct Simple {
  static constexpr const char* kName = "Simple";
  using Input = Event;
  using Message = EveryField;

  BENCH_INLINE static void Fill(EveryField* message, const Event* event) {
    FillSimple(message, event);
  }
};

struct Nested {
  static constexpr const char* kName = "Nested";
  using Input = Event;
  using Message = EveryField;

  BENCH_INLINE static void Fill(EveryField* message, const Event* events) {
    static_assert(kNestedDepth == 4, "one call per level");
    EveryField level1;
    EveryField level2;
    EveryField level3;
    FillSimple(message, &events[0]);
    protozero_benchmark_EveryField_begin_field_nested(message, &level1);
    FillSimple(&level1, &events[1]);
    protozero_benchmark_EveryField_begin_field_nested(&level1, &level2);
    FillSimple(&level2, &events[2]);
    protozero_benchmark_EveryField_begin_field_nested(&level2, &level3);
    FillSimple(&level3, &events[3]);
    protozero_benchmark_EveryField_end(&level3);
    protozero_benchmark_EveryField_end(&level2);
    protozero_benchmark_EveryField_end(&level1);
  }
};

struct RandomVarints {
  static constexpr const char* kName = "RandomVarints";
  using Input = VarintsInput;
  using Message = protozero_benchmark_Varints;

  BENCH_INLINE static void Fill(Message* message, const VarintsInput* input) {
    protozero_benchmark_Varints_set_value1(message, input->values[0]);
    protozero_benchmark_Varints_set_value2(message, input->values[1]);
    protozero_benchmark_Varints_set_value3(message, input->values[2]);
    protozero_benchmark_Varints_set_value4(message, input->values[3]);
    protozero_benchmark_Varints_set_value5(message, input->values[4]);
    protozero_benchmark_Varints_set_value6(message, input->values[5]);
    protozero_benchmark_Varints_set_value7(message, input->values[6]);
    protozero_benchmark_Varints_set_value8(message, input->values[7]);
  }
};

struct Timestamps : RandomVarints {
  static constexpr const char* kName = "Timestamps";
};

struct RandomBytes {
  static constexpr const char* kName = "RandomBytes";
  using Input = BytesInput;
  using Message = protozero_benchmark_Blob;

  BENCH_INLINE static void Fill(Message* message, const BytesInput* input) {
    protozero_benchmark_Blob_set_data(message, input->data, input->size);
  }
};

struct ThirtyFields {
  static constexpr const char* kName = "ThirtyFields";
  using Input = ThirtyFieldsInput;
  using Message = protozero_benchmark_ThirtyFields;

  BENCH_INLINE static void Fill(Message* message,
                                const ThirtyFieldsInput* input) {
#define BENCH_SET(field, value) \
  protozero_benchmark_ThirtyFields_set_##field(message, value)
#define BENCH_FILL_FIFTEEN(suffix)                             \
  BENCH_SET(int32_##suffix, input->suffix.number_int32);       \
  BENCH_SET(uint32_##suffix, input->suffix.number_uint32);     \
  BENCH_SET(int64_##suffix, input->suffix.number_int64);       \
  BENCH_SET(uint64_##suffix, input->suffix.number_uint64);     \
  BENCH_SET(sint32_##suffix, input->suffix.number_sint32);     \
  BENCH_SET(sint64_##suffix, input->suffix.number_sint64);     \
  BENCH_SET(fixed32_##suffix, input->suffix.number_fixed32);   \
  BENCH_SET(fixed64_##suffix, input->suffix.number_fixed64);   \
  BENCH_SET(sfixed32_##suffix, input->suffix.number_sfixed32); \
  BENCH_SET(sfixed64_##suffix, input->suffix.number_sfixed64); \
  BENCH_SET(float_##suffix, input->suffix.number_float);       \
  BENCH_SET(double_##suffix, input->suffix.number_double);     \
  BENCH_SET(bool_##suffix, input->suffix.flag);                \
  BENCH_SET(enum_##suffix, input->suffix.weekday);             \
  protozero_benchmark_ThirtyFields_set_string_##suffix##_n(    \
      message, input->suffix.string.data, input->suffix.string.size)
    BENCH_FILL_FIFTEEN(a);
    BENCH_FILL_FIFTEEN(b);
#undef BENCH_FILL_FIFTEEN
#undef BENCH_SET
  }
};

struct Children {
  static constexpr const char* kName = "Children";
  using Input = ChildrenInput;
  using Message = protozero_benchmark_Children;

  BENCH_INLINE static void Fill(Message* message, const ChildrenInput* input) {
    for (size_t i = 0; i < input->count; ++i) {
      const ChildInput& child_input = input->At(i);
      protozero_benchmark_Child child;
      protozero_benchmark_Children_begin_child(message, &child);
      protozero_benchmark_Child_set_id(&child, child_input.id);
      protozero_benchmark_Child_set_value(&child, child_input.value);
      protozero_benchmark_Child_end(&child);
    }
  }
};

struct PackedVarints {
  static constexpr const char* kName = "PackedVarints";
  using Input = PackedInput;
  using Message = protozero_benchmark_Packed;

  BENCH_INLINE static void Fill(Message* message, const PackedInput* input) {
    protozero_benchmark_Packed_set_varints(message, input->values,
                                           input->count);
  }
};

struct PackedFixed64 {
  static constexpr const char* kName = "PackedFixed64";
  using Input = PackedInput;
  using Message = protozero_benchmark_Packed;

  BENCH_INLINE static void Fill(Message* message, const PackedInput* input) {
    protozero_benchmark_Packed_set_fixed(message, input->values, input->count);
  }
};

template <typename Workload>
class CEncoder final
    : public EncoderWithLoop<CEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    pbz_writer writer;
    typename Workload::Message message;
    pbz_writer_init_buffer(&writer, begin, capacity);
    pbz_begin(&message.message, &writer);
    Workload::Fill(&message, input);
    return pbz_end(&message.message);
  }
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<CEncoder<Workload>>(Workload::kName, "ProtozeroC", encoders);
}

}  // namespace

void AddCEncoders(EncoderList* encoders) {
  AddWorkload<Simple>(encoders);
  AddWorkload<Nested>(encoders);
  AddWorkload<RandomVarints>(encoders);
  AddWorkload<Timestamps>(encoders);
  AddWorkload<RandomBytes>(encoders);
  AddWorkload<ThirtyFields>(encoders);
  AddWorkload<Children>(encoders);
  AddWorkload<PackedVarints>(encoders);
  AddWorkload<PackedFixed64>(encoders);
}

}  // namespace bench
}  // namespace protozero
