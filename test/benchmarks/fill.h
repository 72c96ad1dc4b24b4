// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The workloads for every implementation with the generated API of protobuf.
// The setters of this library and of libprotobuf have the same names, and the
// speed-of-light writer imitates them. So all of them are compared by the same
// code, one function per workload.

#ifndef TEST_BENCHMARKS_FILL_H_
#define TEST_BENCHMARKS_FILL_H_

#include <stdint.h>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/event.h"
#include "test/benchmarks/inputs.h"
#include "test/benchmarks/trace_corpus.h"

namespace protozero {
namespace bench {

// Defines Begin_x(parent, 0), which begins a nested message. This is the one
// difference in the API: for a field that is not repeated, libprotobuf has
// mutable_x(), and we have set_x(). Overload resolution takes the first that
// compiles.
#define BENCH_DEFINE_BEGIN(field)                        \
  template <typename Message>                            \
  BENCH_INLINE auto Begin_##field(Message* parent, int)  \
      ->decltype(parent->mutable_##field()) {            \
    return parent->mutable_##field();                    \
  }                                                      \
  template <typename Message>                            \
  BENCH_INLINE auto Begin_##field(Message* parent, long) \
      ->decltype(parent->set_##field()) {                \
    return parent->set_##field();                        \
  }
BENCH_DEFINE_BEGIN(field_nested)
BENCH_DEFINE_BEGIN(interned_data)
BENCH_DEFINE_BEGIN(process)
BENCH_DEFINE_BEGIN(track_descriptor)
BENCH_DEFINE_BEGIN(track_event)
#undef BENCH_DEFINE_BEGIN

// Returns the argument for setters of bytes fields, not of string fields.
inline const uint8_t* AsBytes(const char* data) {
  return reinterpret_cast<const uint8_t*>(data);
}

// Defines Set_x(message, data, size, 0), which sets a string or bytes field.
// For libprotobuf, it assigns to the field's own string, as experts do: the
// setter that takes a pointer and a size first makes another string of them.
#define BENCH_DEFINE_SET(field, argument)                              \
  template <typename Message>                                          \
  BENCH_INLINE auto Set_##field(Message* message, const char* data,    \
                                size_t size, int)                      \
      ->decltype(message->mutable_##field(), void()) {                 \
    message->mutable_##field()->assign(data, size);                    \
  }                                                                    \
  template <typename Message>                                          \
  BENCH_INLINE auto Set_##field(Message* message, const char* data,    \
                                size_t size, long)                     \
      ->decltype(message->set_##field(argument(data), size), void()) { \
    message->set_##field(argument(data), size);                        \
  }
BENCH_DEFINE_SET(data, AsBytes)
BENCH_DEFINE_SET(field_string, )
BENCH_DEFINE_SET(name, )
BENCH_DEFINE_SET(payload, AsBytes)
BENCH_DEFINE_SET(process_name, )
BENCH_DEFINE_SET(string_a, )
BENCH_DEFINE_SET(string_b, )
BENCH_DEFINE_SET(string_value, )
#undef BENCH_DEFINE_SET

// A value that converts to any library's enum type.
struct AnyEnum {
  template <typename T>
  operator T() const {
    return static_cast<T>(value);
  }
  int value;
};

// Each workload's Fill() writes the fields of an Input into a message. The
// message is an Api::EveryField or another type in Api, a struct of each
// encoders' file.

struct SimpleWorkload {
  static constexpr const char* kName = "Simple";
  using Input = Event;
  template <typename Api>
  using Message = typename Api::EveryField;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const Event* event) {
    message->set_field_int32(event->number_int32);
    message->set_field_uint32(event->number_uint32);
    message->set_field_int64(event->number_int64);
    message->set_field_uint64(event->number_uint64);
    Set_field_string(message, event->string, event->string_size, 0);
  }
};

// Straight-line code with a call site per level, as in instrumentation.
struct NestedWorkload {
  static constexpr const char* kName = "Nested";
  using Input = Event;
  template <typename Api>
  using Message = typename Api::EveryField;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const Event* events) {
    static_assert(kNestedDepth == 4, "one call per level");
    SimpleWorkload::Fill(message, &events[0]);
    auto* level1 = Begin_field_nested(message, 0);
    SimpleWorkload::Fill(level1, &events[1]);
    auto* level2 = Begin_field_nested(level1, 0);
    SimpleWorkload::Fill(level2, &events[2]);
    auto* level3 = Begin_field_nested(level2, 0);
    SimpleWorkload::Fill(level3, &events[3]);
  }
};

// The same message by helper functions that get one message each. An encoder's
// values stay in registers only until such a function ends. The benchmark that
// set our aims has this form. |Setters|: a type for each way to compile a
// message's setters, so that files with different setters have different
// functions.
template <typename Setters = void>
struct HelpersWorkload : NestedWorkload {
  static constexpr const char* kName = "Helpers";

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const Event* events) {
    WriteLevel(message, events, kNestedDepth);
  }

 private:
  template <typename Message>
  BENCH_NOT_INLINE static void WriteLevel(Message* message,
                                          const Event* events,
                                          size_t levels) {
    WriteFields(message, events);
    if (levels > 1)
      WriteLevel(Begin_field_nested(message, 0), events + 1, levels - 1);
  }

  template <typename Message>
  BENCH_NOT_INLINE static void WriteFields(Message* message,
                                           const Event* event) {
    SimpleWorkload::Fill(message, event);
  }
};

struct RandomVarintsWorkload {
  static constexpr const char* kName = "RandomVarints";
  using Input = VarintsInput;
  template <typename Api>
  using Message = typename Api::Varints;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const VarintsInput* input) {
    message->set_value1(input->values[0]);
    message->set_value2(input->values[1]);
    message->set_value3(input->values[2]);
    message->set_value4(input->values[3]);
    message->set_value5(input->values[4]);
    message->set_value6(input->values[5]);
    message->set_value7(input->values[6]);
    message->set_value8(input->values[7]);
  }
};

struct TimestampsWorkload : RandomVarintsWorkload {
  static constexpr const char* kName = "Timestamps";
};

struct RandomBytesWorkload {
  static constexpr const char* kName = "RandomBytes";
  using Input = BytesInput;
  template <typename Api>
  using Message = typename Api::Blob;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const BytesInput* input) {
    Set_data(message, input->data, input->size, 0);
  }
};

struct ThirtyFieldsWorkload {
  static constexpr const char* kName = "ThirtyFields";
  using Input = ThirtyFieldsInput;
  template <typename Api>
  using Message = typename Api::ThirtyFields;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message,
                                const ThirtyFieldsInput* input) {
    const FifteenFields& a = input->a;
    message->set_int32_a(a.number_int32);
    message->set_uint32_a(a.number_uint32);
    message->set_int64_a(a.number_int64);
    message->set_uint64_a(a.number_uint64);
    message->set_sint32_a(a.number_sint32);
    message->set_sint64_a(a.number_sint64);
    message->set_fixed32_a(a.number_fixed32);
    message->set_fixed64_a(a.number_fixed64);
    message->set_sfixed32_a(a.number_sfixed32);
    message->set_sfixed64_a(a.number_sfixed64);
    message->set_float_a(a.number_float);
    message->set_double_a(a.number_double);
    message->set_bool_a(a.flag);
    message->set_enum_a(AnyEnum{a.weekday});
    Set_string_a(message, a.string.data, a.string.size, 0);
    const FifteenFields& b = input->b;
    message->set_int32_b(b.number_int32);
    message->set_uint32_b(b.number_uint32);
    message->set_int64_b(b.number_int64);
    message->set_uint64_b(b.number_uint64);
    message->set_sint32_b(b.number_sint32);
    message->set_sint64_b(b.number_sint64);
    message->set_fixed32_b(b.number_fixed32);
    message->set_fixed64_b(b.number_fixed64);
    message->set_sfixed32_b(b.number_sfixed32);
    message->set_sfixed64_b(b.number_sfixed64);
    message->set_float_b(b.number_float);
    message->set_double_b(b.number_double);
    message->set_bool_b(b.flag);
    message->set_enum_b(AnyEnum{b.weekday});
    Set_string_b(message, b.string.data, b.string.size, 0);
  }
};

struct ChildrenWorkload {
  static constexpr const char* kName = "Children";
  using Input = ChildrenInput;
  template <typename Api>
  using Message = typename Api::Children;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const ChildrenInput* input) {
    for (size_t i = 0; i < input->count; ++i) {
      const ChildInput& child_input = input->At(i);
      auto* child = message->add_child();
      child->set_id(child_input.id);
      child->set_value(child_input.value);
    }
  }
};

// Byte strings of many sizes.
struct BytesWorkload : ChildrenWorkload {
  static constexpr const char* kName = "Bytes";
};

struct DeepWorkload {
  static constexpr const char* kName = "Deep";
  using Input = DeepInput;
  template <typename Api>
  using Message = typename Api::EveryField;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const DeepInput* input) {
    message->set_field_uint32(input->numbers[0]);
    auto* level = Begin_field_nested(message, 0);
    for (size_t i = 1; i < kDeepLevels - 1; ++i) {
      level->set_field_uint32(input->numbers[i]);
      level = Begin_field_nested(level, 0);
    }
    level->set_field_uint32(input->numbers[kDeepLevels - 1]);
  }
};

struct ChunksWorkload {
  static constexpr const char* kName = "Chunks";
  using Input = RecordsInput;
  template <typename Api>
  using Message = typename Api::Records;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const RecordsInput* input) {
    for (const RecordInput& record_input : input->records) {
      auto* record = message->add_record();
      record->set_id(record_input.id);
      record->set_time(record_input.time);
      Set_payload(record, record_input.payload.data, record_input.payload.size,
                  0);
    }
  }
};

// A small message and as many items as make it as long as the row says. Its
// bytes end in a string.
struct StringWorkload {
  static constexpr const char* kName = "String";
  using Input = ReplyInput;
  template <typename Api>
  using Message = typename Api::Reply;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* message, const ReplyInput* input) {
    SimpleWorkload::Fill(message, &input->event);
    for (size_t i = 0; i < input->count; ++i) {
      auto* item = message->add_item();
      item->set_id(input->item->id);
      item->set_value(input->item->value);
      Set_name(item, input->item->name.data, input->item->name.size, 0);
    }
  }
};

// Packets as examples/ninja_trace writes them.
struct MixedCorpusWorkload {
  static constexpr const char* kName = "MixedCorpus";
  using Input = TracePacketInput;
  template <typename Api>
  using Message = typename Api::TracePacket;

  template <typename Message>
  BENCH_INLINE static void Fill(Message* packet,
                                const TracePacketInput* input) {
    packet->set_trusted_packet_sequence_id(input->sequence_id);
    switch (input->kind) {
      case TracePacketInput::Kind::kSliceBegin:
      case TracePacketInput::Kind::kSliceEnd:
        return FillSlice(packet, input);
      case TracePacketInput::Kind::kTrack:
        return FillTrack(packet, input);
      case TracePacketInput::Kind::kStrings:
        return FillStrings(packet, input);
    }
  }

 private:
  template <typename Message>
  BENCH_INLINE static void FillSlice(Message* packet,
                                     const TracePacketInput* input) {
    constexpr AnyEnum kBegin = {1};
    constexpr AnyEnum kEnd = {2};
    packet->set_timestamp(input->timestamp);
    packet->set_sequence_flags(input->sequence_flags);
    auto* event = Begin_track_event(packet, 0);
    if (input->kind == TracePacketInput::Kind::kSliceEnd) {
      event->set_type(kEnd);
      event->set_track_uuid(input->track_uuid);
      return;
    }
    event->set_type(kBegin);
    event->set_track_uuid(input->track_uuid);
    event->add_category_iids(input->category_iid);
    Set_name(event, input->name.data, input->name.size, 0);
    for (const TraceAnnotation& annotation_input : input->annotations) {
      auto* annotation = event->add_debug_annotations();
      annotation->set_name_iid(annotation_input.name_iid);
      switch (annotation_input.kind) {
        case TraceAnnotation::Kind::kPointer:
          annotation->set_pointer_value(annotation_input.value);
          break;
        case TraceAnnotation::Kind::kInt:
          annotation->set_int_value(
              static_cast<int64_t>(annotation_input.value));
          break;
        case TraceAnnotation::Kind::kStrings:
          for (const TraceString& string : annotation_input.strings) {
            Set_string_value(annotation->add_array_values(), string.data,
                             string.size, 0);
          }
          break;
      }
    }
  }

  template <typename Message>
  BENCH_INLINE static void FillTrack(Message* packet,
                                     const TracePacketInput* input) {
    auto* track = Begin_track_descriptor(packet, 0);
    track->set_uuid(input->track_uuid);
    track->set_parent_uuid(input->parent_uuid);
    Set_name(track, input->name.data, input->name.size, 0);
    track->set_sibling_order_rank(input->sibling_order_rank);
  }

  template <typename Message>
  BENCH_INLINE static void FillStrings(Message* packet,
                                       const TracePacketInput* input) {
    packet->set_first_packet_on_sequence(true);
    packet->set_sequence_flags(input->sequence_flags);
    auto* strings = Begin_interned_data(packet, 0);
    for (const TraceName& category_input : input->categories) {
      auto* category = strings->add_event_categories();
      category->set_iid(category_input.iid);
      Set_name(category, category_input.name.data, category_input.name.size, 0);
    }
    for (const TraceName& name_input : input->annotation_names) {
      auto* name = strings->add_debug_annotation_names();
      name->set_iid(name_input.iid);
      Set_name(name, name_input.name.data, name_input.name.size, 0);
    }
    auto* track = Begin_track_descriptor(packet, 0);
    track->set_uuid(input->track_uuid);
    track->set_child_ordering(AnyEnum{input->child_ordering});
    auto* process = Begin_process(track, 0);
    process->set_pid(input->pid);
    Set_process_name(process, input->process_name.data,
                     input->process_name.size, 0);
  }
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_FILL_H_
