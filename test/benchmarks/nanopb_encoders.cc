// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <pb_encode.h>
#include <string.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/inputs.h"
#include "test/benchmarks/perfetto_trace.nanopb.h"
#include "test/benchmarks/trace_corpus.h"
#include "test/protos/benchmark_messages.nanopb.h"

namespace protozero {
namespace bench {

namespace {

// nanopb encodes a struct, the `message` of a workload: Fill() copies the
// input, or pointers into the input, to it.

using EveryField = protozero_benchmark_EveryField;

void FillSimple(EveryField* message, const Event* event) {
  message->has_field_int32 = true;
  message->field_int32 = event->number_int32;
  message->has_field_uint32 = true;
  message->field_uint32 = event->number_uint32;
  message->has_field_int64 = true;
  message->field_int64 = event->number_int64;
  message->has_field_uint64 = true;
  message->field_uint64 = event->number_uint64;
  message->has_field_string = true;
  static_assert(sizeof(message->field_string) == kStringSize + 1,
                "the .options file and the events must agree");
  memcpy(message->field_string, event->string, event->string_size);
}

struct Simple {
  static constexpr const char* kName = "Simple";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_EveryField_fields;
  using Input = Event;

  void Fill(const Event* event) { FillSimple(&message, event); }

  EveryField message = {};
};

struct Nested {
  static constexpr const char* kName = "Nested";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_EveryField_fields;
  using Input = Event;

  void Fill(const Event* events) {
    for (size_t level = 0; level < kNestedDepth; ++level) {
      FillSimple(&message[level], &events[level]);
      if (level > 0)
        message[level - 1].field_nested = &message[level];
    }
  }

  EveryField message[kNestedDepth] = {};
};

struct RandomVarints {
  static constexpr const char* kName = "RandomVarints";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Varints_fields;
  using Input = VarintsInput;

  void Fill(const VarintsInput* input) {
    message = {true, input->values[0], true, input->values[1],
               true, input->values[2], true, input->values[3],
               true, input->values[4], true, input->values[5],
               true, input->values[6], true, input->values[7]};
  }

  protozero_benchmark_Varints message;
};

struct Timestamps : RandomVarints {
  static constexpr const char* kName = "Timestamps";
};

struct RandomBytes {
  static constexpr const char* kName = "RandomBytes";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Blob_fields;
  using Input = BytesInput;

  void Fill(const BytesInput* input) {
    message.has_data = true;
    message.data.size = static_cast<pb_size_t>(input->size);
    memcpy(message.data.bytes, input->data, input->size);
  }

  protozero_benchmark_Blob message;
};

struct ThirtyFields {
  static constexpr const char* kName = "ThirtyFields";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_ThirtyFields_fields;
  using Input = ThirtyFieldsInput;

  void Fill(const ThirtyFieldsInput* input) {
#define BENCH_SET(field, value) \
  message.has_##field = true;   \
  message.field = value
#define BENCH_FILL_FIFTEEN(suffix)                                            \
  BENCH_SET(int32_##suffix, input->suffix.number_int32);                      \
  BENCH_SET(uint32_##suffix, input->suffix.number_uint32);                    \
  BENCH_SET(int64_##suffix, input->suffix.number_int64);                      \
  BENCH_SET(uint64_##suffix, input->suffix.number_uint64);                    \
  BENCH_SET(sint32_##suffix, input->suffix.number_sint32);                    \
  BENCH_SET(sint64_##suffix, input->suffix.number_sint64);                    \
  BENCH_SET(fixed32_##suffix, input->suffix.number_fixed32);                  \
  BENCH_SET(fixed64_##suffix, input->suffix.number_fixed64);                  \
  BENCH_SET(sfixed32_##suffix, input->suffix.number_sfixed32);                \
  BENCH_SET(sfixed64_##suffix, input->suffix.number_sfixed64);                \
  BENCH_SET(float_##suffix, input->suffix.number_float);                      \
  BENCH_SET(double_##suffix, input->suffix.number_double);                    \
  BENCH_SET(bool_##suffix, input->suffix.flag);                               \
  BENCH_SET(enum_##suffix,                                                    \
            static_cast<protozero_benchmark_Weekday>(input->suffix.weekday)); \
  message.has_string_##suffix = true;                                         \
  memcpy(message.string_##suffix, input->suffix.string.data,                  \
         input->suffix.string.size);                                          \
  message.string_##suffix[input->suffix.string.size] = '\0'
    static_assert(sizeof(message.string_a) == kMaxFieldStringSize + 1,
                  "the .options file and the inputs must agree");
    BENCH_FILL_FIFTEEN(a);
    BENCH_FILL_FIFTEEN(b);
#undef BENCH_FILL_FIFTEEN
#undef BENCH_SET
  }

  protozero_benchmark_ThirtyFields message;
};

struct Children {
  static constexpr const char* kName = "Children";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Children_fields;
  using Input = ChildrenInput;

  void Fill(const ChildrenInput* input) {
    message.child_count = static_cast<pb_size_t>(input->count);
    for (size_t i = 0; i < input->count; ++i) {
      const ChildInput& child = input->At(i);
      message.child[i] = {true, child.id, true, child.value};
    }
  }

  protozero_benchmark_Children message;
};

struct PackedVarints {
  static constexpr const char* kName = "PackedVarints";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Packed_fields;
  using Input = PackedInput;

  PackedVarints() { message.fixed_count = 0; }

  void Fill(const PackedInput* input) {
    message.varints_count = static_cast<pb_size_t>(input->count);
    memcpy(message.varints, input->values, input->count * sizeof(uint64_t));
  }

  protozero_benchmark_Packed message;
};

struct PackedFixed64 {
  static constexpr const char* kName = "PackedFixed64";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Packed_fields;
  using Input = PackedInput;

  PackedFixed64() { message.varints_count = 0; }

  void Fill(const PackedInput* input) {
    message.fixed_count = static_cast<pb_size_t>(input->count);
    memcpy(message.fixed, input->values, input->count * sizeof(uint64_t));
  }

  protozero_benchmark_Packed message;
};

struct Deep {
  static constexpr const char* kName = "Deep";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_EveryField_fields;
  using Input = DeepInput;

  Deep() {
    for (size_t level = 0; level < kDeepLevels; ++level) {
      message[level].has_field_uint32 = true;
      if (level > 0)
        message[level - 1].field_nested = &message[level];
    }
  }

  void Fill(const DeepInput* input) {
    for (size_t level = 0; level < kDeepLevels; ++level)
      message[level].field_uint32 = input->numbers[level];
  }

  EveryField message[kDeepLevels] = {};
};

struct Chunks {
  static constexpr const char* kName = "Chunks";
  static constexpr const pb_msgdesc_t* kFields =
      protozero_benchmark_Records_fields;
  using Input = RecordsInput;

  void Fill(const RecordsInput* input) {
    message.record_count = kRecords;
    for (size_t i = 0; i < kRecords; ++i) {
      const RecordInput& record = input->records[i];
      message.record[i] = {true, record.id, true, record.time, {}};
      message.record[i].payload.funcs.encode = &EncodePayload;
      message.record[i].payload.arg = const_cast<BytesInput*>(&record.payload);
    }
  }

  static bool EncodePayload(pb_ostream_t* stream,
                            const pb_field_t* field,
                            void* const* arg) {
    const BytesInput* payload = static_cast<const BytesInput*>(*arg);
    return pb_encode_tag_for_field(stream, field) &&
           pb_encode_string(stream,
                            reinterpret_cast<const pb_byte_t*>(payload->data),
                            payload->size);
  }

  protozero_benchmark_Records message;
};

struct MixedCorpus {
  static constexpr const char* kName = "MixedCorpus";
  static constexpr const pb_msgdesc_t* kFields =
      perfetto_protos_TracePacket_fields;
  using Input = TracePacketInput;

  void Fill(const TracePacketInput* input) {
    message = {};
    message.has_trusted_packet_sequence_id = true;
    message.trusted_packet_sequence_id = input->sequence_id;
    switch (input->kind) {
      case TracePacketInput::Kind::kSliceBegin:
      case TracePacketInput::Kind::kSliceEnd:
        return FillSlice(input);
      case TracePacketInput::Kind::kTrack:
        return FillTrack(input);
      case TracePacketInput::Kind::kStrings:
        return FillStrings(input);
    }
  }

  void FillSlice(const TracePacketInput* input) {
    message.has_timestamp = true;
    message.timestamp = input->timestamp;
    message.has_sequence_flags = true;
    message.sequence_flags = input->sequence_flags;
    message.which_data = perfetto_protos_TracePacket_track_event_tag;
    perfetto_protos_TrackEvent& event = message.data.track_event;
    event = {};
    event.has_track_uuid = true;
    event.track_uuid = input->track_uuid;
    event.has_type = true;
    if (input->kind == TracePacketInput::Kind::kSliceEnd) {
      event.type = perfetto_protos_TrackEvent_Type_TYPE_SLICE_END;
      return;
    }
    event.type = perfetto_protos_TrackEvent_Type_TYPE_SLICE_BEGIN;
    event.category_iids_count = 1;
    event.category_iids = const_cast<uint64_t*>(&input->category_iid);
    event.name = const_cast<char*>(input->name.data);
    annotations.clear();
    strings.clear();
    for (const TraceAnnotation& annotation_input : input->annotations) {
      annotations.push_back({});
      perfetto_protos_DebugAnnotation& annotation = annotations.back();
      annotation.has_name_iid = true;
      annotation.name_iid = annotation_input.name_iid;
      switch (annotation_input.kind) {
        case TraceAnnotation::Kind::kPointer:
          annotation.which_value =
              perfetto_protos_DebugAnnotation_pointer_value_tag;
          annotation.value.pointer_value = annotation_input.value;
          break;
        case TraceAnnotation::Kind::kInt:
          annotation.which_value =
              perfetto_protos_DebugAnnotation_int_value_tag;
          annotation.value.int_value =
              static_cast<int64_t>(annotation_input.value);
          break;
        case TraceAnnotation::Kind::kStrings:
          FillStringsAnnotation(annotation_input, &annotation);
          break;
      }
    }
    event.debug_annotations_count = static_cast<pb_size_t>(annotations.size());
    event.debug_annotations = annotations.data();
  }

  void FillStringsAnnotation(const TraceAnnotation& input,
                             perfetto_protos_DebugAnnotation* annotation) {
    // Each annotation has its own list, because no list may move when the next
    // one is made.
    strings.emplace_back(input.strings.size());
    for (size_t i = 0; i < input.strings.size(); ++i) {
      perfetto_protos_DebugAnnotation& value = strings.back()[i];
      value = {};
      value.which_value = perfetto_protos_DebugAnnotation_string_value_tag;
      value.value.string_value = const_cast<char*>(input.strings[i].data);
    }
    annotation->array_values_count =
        static_cast<pb_size_t>(strings.back().size());
    annotation->array_values = strings.back().data();
  }

  void FillTrack(const TracePacketInput* input) {
    message.which_data = perfetto_protos_TracePacket_track_descriptor_tag;
    perfetto_protos_TrackDescriptor& track = message.data.track_descriptor;
    track = {};
    track.has_uuid = true;
    track.uuid = input->track_uuid;
    track.has_parent_uuid = true;
    track.parent_uuid = input->parent_uuid;
    track.name = const_cast<char*>(input->name.data);
    track.has_sibling_order_rank = true;
    track.sibling_order_rank = input->sibling_order_rank;
  }

  void FillStrings(const TracePacketInput* input) {
    message.has_first_packet_on_sequence = true;
    message.first_packet_on_sequence = true;
    message.has_sequence_flags = true;
    message.sequence_flags = input->sequence_flags;
    message.has_interned_data = true;
    FillNames(input->categories, &categories);
    message.interned_data.event_categories_count =
        static_cast<pb_size_t>(categories.size());
    message.interned_data.event_categories = categories.data();
    FillNames(input->annotation_names, &annotation_names);
    message.interned_data.debug_annotation_names_count =
        static_cast<pb_size_t>(annotation_names.size());
    message.interned_data.debug_annotation_names = annotation_names.data();
    message.which_data = perfetto_protos_TracePacket_track_descriptor_tag;
    perfetto_protos_TrackDescriptor& track = message.data.track_descriptor;
    track = {};
    track.has_uuid = true;
    track.uuid = input->track_uuid;
    track.has_child_ordering = true;
    track.child_ordering =
        static_cast<perfetto_protos_TrackDescriptor_ChildTracksOrdering>(
            input->child_ordering);
    track.has_process = true;
    track.process.has_pid = true;
    track.process.pid = input->pid;
    track.process.process_name = const_cast<char*>(input->process_name.data);
  }

  template <typename T>
  static void FillNames(const std::vector<TraceName>& input,
                        std::vector<T>* names) {
    names->clear();
    for (const TraceName& name : input)
      names->push_back({true, name.iid, const_cast<char*>(name.name.data)});
  }

  perfetto_protos_TracePacket message;
  std::vector<perfetto_protos_DebugAnnotation> annotations;
  std::vector<std::vector<perfetto_protos_DebugAnnotation>> strings;
  std::vector<perfetto_protos_EventCategory> categories;
  std::vector<perfetto_protos_DebugAnnotationName> annotation_names;
};

template <typename Workload>
size_t Encode(Workload* workload,
              const typename Workload::Input* input,
              pb_ostream_t* stream) {
  workload->Fill(input);
  if (!pb_encode(stream, Workload::kFields, &workload->message))
    return 0;
  return stream->bytes_written;
}

// A new struct for each event.
template <typename Workload>
class FreshEncoder final
    : public EncoderWithLoop<FreshEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    Workload workload;
    pb_ostream_t stream = pb_ostream_from_buffer(begin, capacity);
    return Encode(&workload, input, &stream);
  }
};

// One struct for all events, for structs that take a while to set up.
template <typename Workload>
class ReusedEncoder final : public EncoderWithLoop<ReusedEncoder<Workload>,
                                                   typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    pb_ostream_t stream = pb_ostream_from_buffer(begin, capacity);
    return Encode(&workload_, input, &stream);
  }

 private:
  Workload workload_;
};

// A buffer that is handed out in chunks.
struct ChunkCursor {
  uint8_t* next;
  size_t left;   // in this chunk
  size_t later;  // in the chunks after it
};

bool WriteToChunks(pb_ostream_t* stream, const pb_byte_t* data, size_t size) {
  ChunkCursor* cursor = static_cast<ChunkCursor*>(stream->state);
  while (size != 0) {
    if (cursor->left == 0) {
      cursor->left = std::min(kChunkSize, cursor->later);
      cursor->later -= cursor->left;
      if (cursor->left == 0)
        return false;
    }
    const size_t now = std::min(size, cursor->left);
    memcpy(cursor->next, data, now);
    cursor->next += now;
    cursor->left -= now;
    data += now;
    size -= now;
  }
  return true;
}

template <typename Workload>
class ChunkedEncoder final : public EncoderWithLoop<ChunkedEncoder<Workload>,
                                                    typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    ChunkCursor cursor = {begin, 0, capacity};
    pb_ostream_t stream = {};
    stream.callback = &WriteToChunks;
    stream.state = &cursor;
    stream.max_size = capacity;
    return Encode(&workload_, input, &stream);
  }

 private:
  Workload workload_;
};

template <template <typename> class EncoderType, typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<EncoderType<Workload>>(Workload::kName, "Nanopb", encoders);
}

}  // namespace

void AddNanopbEncoders(EncoderList* encoders) {
  AddWorkload<FreshEncoder, Simple>(encoders);
  AddWorkload<FreshEncoder, Nested>(encoders);
  AddWorkload<FreshEncoder, RandomVarints>(encoders);
  AddWorkload<FreshEncoder, Timestamps>(encoders);
  AddWorkload<FreshEncoder, RandomBytes>(encoders);
  AddWorkload<FreshEncoder, ThirtyFields>(encoders);
  AddWorkload<ReusedEncoder, Children>(encoders);
  AddWorkload<ReusedEncoder, PackedVarints>(encoders);
  AddWorkload<ReusedEncoder, PackedFixed64>(encoders);
  AddWorkload<ReusedEncoder, Deep>(encoders);
  AddWorkload<ChunkedEncoder, Chunks>(encoders);
  AddWorkload<ReusedEncoder, MixedCorpus>(encoders);
}

const char* NanopbVersion() {
  return NANOPB_VERSION;
}

}  // namespace bench
}  // namespace protozero
