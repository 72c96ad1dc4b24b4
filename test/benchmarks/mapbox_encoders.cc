// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <string>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/inputs.h"
#include "test/benchmarks/trace_corpus.h"

// Mapbox's library has our name: our namespace, and a folder of headers called
// like ours. This file renames its namespace, so that the linker cannot merge
// one of its inline functions with one of ours. The folder is no danger,
// because its headers end in .hpp and ours in .h. But never include ours in
// this file, because the macros of both start with PROTOZERO_.
#define protozero mapbox
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/version.hpp>
#undef protozero

namespace protozero {
namespace bench {

namespace {

using Buffer = mapbox::fixed_size_buffer_adaptor;
using Writer = mapbox::basic_pbf_writer<Buffer>;

// Mapbox's writer takes field numbers, because it has no generated code. These
// are the ones of EveryField in test/protos/benchmark_messages.proto.
constexpr mapbox::pbf_tag_type kInt32 = 1;
constexpr mapbox::pbf_tag_type kInt64 = 2;
constexpr mapbox::pbf_tag_type kUint32 = 3;
constexpr mapbox::pbf_tag_type kUint64 = 4;
constexpr mapbox::pbf_tag_type kNested = 15;
constexpr mapbox::pbf_tag_type kString = 500;

struct Simple {
  static constexpr const char* kName = "Simple";
  using Input = Event;

  BENCH_INLINE static void Fill(Writer& writer, const Event* event) {
    writer.add_int32(kInt32, event->number_int32);
    writer.add_uint32(kUint32, event->number_uint32);
    writer.add_int64(kInt64, event->number_int64);
    writer.add_uint64(kUint64, event->number_uint64);
    writer.add_string(kString, event->string, event->string_size);
  }
};

struct Nested {
  static constexpr const char* kName = "Nested";
  using Input = Event;

  // A child closes when its writer is destroyed, innermost first.
  BENCH_INLINE static void Fill(Writer& writer, const Event* events) {
    static_assert(kNestedDepth == 4, "one writer per level");
    Simple::Fill(writer, &events[0]);
    Writer level1(writer, kNested);
    Simple::Fill(level1, &events[1]);
    Writer level2(level1, kNested);
    Simple::Fill(level2, &events[2]);
    Writer level3(level2, kNested);
    Simple::Fill(level3, &events[3]);
  }
};

struct RandomVarints {
  static constexpr const char* kName = "RandomVarints";
  using Input = VarintsInput;

  BENCH_INLINE static void Fill(Writer& writer, const VarintsInput* input) {
    writer.add_uint64(1, input->values[0]);
    writer.add_uint64(2, input->values[1]);
    writer.add_uint64(3, input->values[2]);
    writer.add_uint64(4, input->values[3]);
    writer.add_uint64(5, input->values[4]);
    writer.add_uint64(6, input->values[5]);
    writer.add_uint64(7, input->values[6]);
    writer.add_uint64(8, input->values[7]);
  }
};

struct Timestamps : RandomVarints {
  static constexpr const char* kName = "Timestamps";
};

struct RandomBytes {
  static constexpr const char* kName = "RandomBytes";
  using Input = BytesInput;

  BENCH_INLINE static void Fill(Writer& writer, const BytesInput* input) {
    writer.add_bytes(1, input->data, input->size);
  }
};

struct ThirtyFields {
  static constexpr const char* kName = "ThirtyFields";
  using Input = ThirtyFieldsInput;

  BENCH_INLINE static void Fill(Writer& writer,
                                const ThirtyFieldsInput* input) {
    FillFifteen<0>(writer, input->a);
    FillFifteen<15>(writer, input->b);
  }

 private:
  template <mapbox::pbf_tag_type kOffset>
  BENCH_INLINE static void FillFifteen(Writer& writer,
                                       const FifteenFields& fields) {
    writer.add_int32(kOffset + 1, fields.number_int32);
    writer.add_uint32(kOffset + 2, fields.number_uint32);
    writer.add_int64(kOffset + 3, fields.number_int64);
    writer.add_uint64(kOffset + 4, fields.number_uint64);
    writer.add_sint32(kOffset + 5, fields.number_sint32);
    writer.add_sint64(kOffset + 6, fields.number_sint64);
    writer.add_fixed32(kOffset + 7, fields.number_fixed32);
    writer.add_fixed64(kOffset + 8, fields.number_fixed64);
    writer.add_sfixed32(kOffset + 9, fields.number_sfixed32);
    writer.add_sfixed64(kOffset + 10, fields.number_sfixed64);
    writer.add_float(kOffset + 11, fields.number_float);
    writer.add_double(kOffset + 12, fields.number_double);
    writer.add_bool(kOffset + 13, fields.flag);
    writer.add_enum(kOffset + 14, fields.weekday);
    writer.add_string(kOffset + 15, fields.string.data, fields.string.size);
  }
};

struct Children {
  static constexpr const char* kName = "Children";
  using Input = ChildrenInput;

  BENCH_INLINE static void Fill(Writer& writer, const ChildrenInput* input) {
    for (size_t i = 0; i < input->count; ++i) {
      const ChildInput& child_input = input->At(i);
      Writer child(writer, 1);
      child.add_uint32(1, child_input.id);
      child.add_uint64(2, child_input.value);
    }
  }
};

struct PackedVarints {
  static constexpr const char* kName = "PackedVarints";
  using Input = PackedInput;

  BENCH_INLINE static void Fill(Writer& writer, const PackedInput* input) {
    writer.add_packed_uint64(1, input->values, input->values + input->count);
  }
};

struct PackedFixed64 {
  static constexpr const char* kName = "PackedFixed64";
  using Input = PackedInput;

  BENCH_INLINE static void Fill(Writer& writer, const PackedInput* input) {
    writer.add_packed_fixed64(2, input->values, input->values + input->count);
  }
};

struct Deep {
  static constexpr const char* kName = "Deep";
  using Input = DeepInput;

  static void Fill(Writer& writer, const DeepInput* input) {
    FillLevel(writer, input, 0);
  }

 private:
  // Each level's writer has to live until the level is complete.
  static void FillLevel(Writer& writer, const DeepInput* input, size_t level) {
    writer.add_uint32(kUint32, input->numbers[level]);
    if (level + 1 < kDeepLevels) {
      Writer child(writer, kNested);
      FillLevel(child, input, level + 1);
    }
  }
};

// The Chunks message in one piece: this library's buffers are contiguous, so
// this measures the same message when there is room for all of it.
struct Chunks {
  static constexpr const char* kName = "Chunks";
  using Input = RecordsInput;

  BENCH_INLINE static void Fill(Writer& writer, const RecordsInput* input) {
    for (const RecordInput& record_input : input->records) {
      Writer record(writer, 1);
      record.add_uint32(1, record_input.id);
      record.add_uint64(2, record_input.time);
      record.add_bytes(3, record_input.payload.data, record_input.payload.size);
    }
  }
};

// The field numbers are those of test/benchmarks/perfetto_trace.proto.
struct MixedCorpus {
  static constexpr const char* kName = "MixedCorpus";
  using Input = TracePacketInput;

  BENCH_INLINE static void Fill(Writer& packet, const TracePacketInput* input) {
    packet.add_uint32(10, input->sequence_id);
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
  BENCH_INLINE static void FillSlice(Writer& packet,
                                     const TracePacketInput* input) {
    packet.add_uint64(8, input->timestamp);
    packet.add_uint32(13, input->sequence_flags);
    Writer event(packet, 11);
    if (input->kind == TracePacketInput::Kind::kSliceEnd) {
      event.add_enum(9, 2);
      event.add_uint64(11, input->track_uuid);
      return;
    }
    event.add_enum(9, 1);
    event.add_uint64(11, input->track_uuid);
    event.add_uint64(3, input->category_iid);
    event.add_string(23, input->name.data, input->name.size);
    for (const TraceAnnotation& annotation_input : input->annotations) {
      Writer annotation(event, 4);
      annotation.add_uint64(1, annotation_input.name_iid);
      switch (annotation_input.kind) {
        case TraceAnnotation::Kind::kPointer:
          annotation.add_uint64(7, annotation_input.value);
          break;
        case TraceAnnotation::Kind::kInt:
          annotation.add_int64(4, static_cast<int64_t>(annotation_input.value));
          break;
        case TraceAnnotation::Kind::kStrings:
          for (const TraceString& string : annotation_input.strings) {
            Writer value(annotation, 12);
            value.add_string(6, string.data, string.size);
          }
          break;
      }
    }
  }

  BENCH_INLINE static void FillTrack(Writer& packet,
                                     const TracePacketInput* input) {
    Writer track(packet, 60);
    track.add_uint64(1, input->track_uuid);
    track.add_uint64(5, input->parent_uuid);
    track.add_string(2, input->name.data, input->name.size);
    track.add_int32(12, input->sibling_order_rank);
  }

  BENCH_INLINE static void FillStrings(Writer& packet,
                                       const TracePacketInput* input) {
    packet.add_bool(87, true);
    packet.add_uint32(13, input->sequence_flags);
    {
      Writer strings(packet, 12);
      FillNames(strings, 1, input->categories);
      FillNames(strings, 3, input->annotation_names);
    }
    Writer track(packet, 60);
    track.add_uint64(1, input->track_uuid);
    track.add_enum(11, input->child_ordering);
    Writer process(track, 3);
    process.add_int32(1, input->pid);
    process.add_string(6, input->process_name.data, input->process_name.size);
  }

  BENCH_INLINE static void FillNames(Writer& strings,
                                     mapbox::pbf_tag_type field,
                                     const std::vector<TraceName>& names) {
    for (const TraceName& name : names) {
      Writer child(strings, field);
      child.add_uint64(1, name.iid);
      child.add_string(2, name.name.data, name.name.size);
    }
  }
};

// The fixed buffer is the fastest of the buffers that Mapbox's library offers.
template <typename Workload>
class MapboxEncoder final : public EncoderWithLoop<MapboxEncoder<Workload>,
                                                   typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    Buffer buffer(reinterpret_cast<char*>(begin), capacity);
    Writer writer(buffer);
    Workload::Fill(writer, input);
    return buffer.size();
  }
};

// Its usual writer, which appends to a string. The fields have the numbers of
// Reply.
class StringFreshEncoder final
    : public EncoderWithLoop<StringFreshEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    std::string string;
    Fill(input, &string);
    return CopyString(string, begin);
  }

  BENCH_INLINE static void Fill(const ReplyInput* input, std::string* string) {
    mapbox::pbf_writer writer(*string);
    writer.add_int32(kInt32, input->event.number_int32);
    writer.add_uint32(kUint32, input->event.number_uint32);
    writer.add_int64(kInt64, input->event.number_int64);
    writer.add_uint64(kUint64, input->event.number_uint64);
    writer.add_string(kString, input->event.string, input->event.string_size);
    for (size_t i = 0; i < input->count; ++i) {
      mapbox::pbf_writer item(writer, 15);
      item.add_uint32(1, input->item->id);
      item.add_uint64(2, input->item->value);
      item.add_string(3, input->item->name.data, input->item->name.size);
    }
  }
};

// The same string for all messages.
class SameStringEncoder final
    : public EncoderWithLoop<SameStringEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    string_.clear();
    StringFreshEncoder::Fill(input, &string_);
    return CopyString(string_, begin);
  }

 private:
  std::string string_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<MapboxEncoder<Workload>>(Workload::kName, "Mapbox", encoders);
}

template <typename Workload>
void AddWorkloadWithCallSites(EncoderList* encoders) {
  AddEncoderWithCallSites<MapboxEncoder<Workload>>(Workload::kName, "Mapbox",
                                                   encoders);
}

}  // namespace

void AddMapboxEncoders(EncoderList* encoders) {
  AddWorkloadWithCallSites<Simple>(encoders);
  AddWorkload<Nested>(encoders);
  AddWorkload<RandomVarints>(encoders);
  AddWorkload<Timestamps>(encoders);
  AddWorkload<RandomBytes>(encoders);
  AddWorkload<ThirtyFields>(encoders);
  AddWorkload<Children>(encoders);
  AddWorkload<PackedVarints>(encoders);
  AddWorkload<PackedFixed64>(encoders);
  AddWorkload<Deep>(encoders);
  AddWorkload<Chunks>(encoders);
  AddWorkloadWithCallSites<MixedCorpus>(encoders);
  AddEncoder<StringFreshEncoder>("String", "Mapbox", encoders);
  AddEncoder<SameStringEncoder>("String", "MapboxSameString", encoders);
}

const char* MapboxVersion() {
  return "Mapbox protozero " PROTOZERO_VERSION_STRING;
}

}  // namespace bench
}  // namespace protozero
