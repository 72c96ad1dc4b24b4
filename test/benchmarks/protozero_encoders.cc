// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Hot code, and compiled with its flags: see BUILD.gn.

#include <string.h>

#include <algorithm>

#include "protozero/append_fields.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/benchmarks/protozero_encoders.h"
#include "test/protos/benchmark_messages.pbzero.h"

namespace protozero {
namespace bench {

namespace {

struct PackedVarintsWorkload {
  static constexpr const char* kName = "PackedVarints";
  using Input = PackedInput;
  template <typename>
  using Message = Api::Packed;

  BENCH_INLINE static void Fill(Api::Packed* message,
                                const PackedInput* input) {
    message->set_varints(input->values, input->count);
  }
};

// The same elements, collected as if they came one by one.
struct CollectedVarintsWorkload : PackedVarintsWorkload {
  BENCH_INLINE static void Fill(Api::Packed* message,
                                const PackedInput* input) {
    PackedVarInt elements;
    for (size_t i = 0; i < input->count; ++i)
      elements.Append(input->values[i]);
    message->set_varints(elements);
  }
};

struct PackedFixed64Workload {
  static constexpr const char* kName = "PackedFixed64";
  using Input = PackedInput;
  template <typename>
  using Message = Api::Packed;

  BENCH_INLINE static void Fill(Api::Packed* message,
                                const PackedInput* input) {
    message->set_fixed(input->values, input->count);
  }
};

struct CollectedFixed64Workload : PackedFixed64Workload {
  BENCH_INLINE static void Fill(Api::Packed* message,
                                const PackedInput* input) {
    PackedFixedSizeInt<uint64_t> elements;
    for (size_t i = 0; i < input->count; ++i)
      elements.Append(input->values[i]);
    message->set_fixed(elements);
  }
};

// The same bytes by one call, for instrumentation that runs often. The call
// writes the fields of a message or a whole message, with or without a stream.
class FusedWorkload {
 protected:
  template <typename Target, typename... More>
  BENCH_INLINE static auto Append(Target* target,
                                  const Event* event,
                                  More... more) {
    return AppendTo(
        target, Api::EveryField::kFieldInt32(event->number_int32),
        Api::EveryField::kFieldUint32(event->number_uint32),
        Api::EveryField::kFieldInt64(event->number_int64),
        Api::EveryField::kFieldUint64(event->number_uint64),
        Api::EveryField::kFieldString(event->string, event->string_size),
        more...);
  }
  template <typename... More>
  BENCH_INLINE static auto Nested(const Event* event, More... more) {
    return Api::EveryField::kFieldNested(FieldList(
        Api::EveryField::kFieldInt32(event->number_int32),
        Api::EveryField::kFieldUint32(event->number_uint32),
        Api::EveryField::kFieldInt64(event->number_int64),
        Api::EveryField::kFieldUint64(event->number_uint64),
        Api::EveryField::kFieldString(event->string, event->string_size),
        more...));
  }

 private:
  template <typename... Values>
  BENCH_INLINE static void AppendTo(Api::EveryField* message,
                                    const Values&... values) {
    AppendFields(message, values...);
  }
  template <typename... Values>
  BENCH_INLINE static size_t AppendTo(ScatteredStreamWriter* writer,
                                      const Values&... values) {
    return AppendMessage<Api::EveryField>(writer, values...);
  }
  template <typename... Values>
  BENCH_INLINE static size_t AppendTo(const ContiguousMemoryRange* buffer,
                                      const Values&... values) {
    return EncodeMessage<Api::EveryField>(buffer->begin, buffer->size(),
                                          values...);
  }
};

struct FusedSimpleWorkload : SimpleWorkload, FusedWorkload {
  template <typename Target>
  BENCH_INLINE static auto Fill(Target* target, const Event* event) {
    return Append(target, event);
  }
};

struct FusedNestedWorkload : NestedWorkload, FusedWorkload {
  template <typename Target>
  BENCH_INLINE static auto Fill(Target* target, const Event* events) {
    return Append(target, &events[0],
                  Nested(&events[1], Nested(&events[2], Nested(&events[3]))));
  }
};

// A new writer and a new message for each event, over the buffer that the event
// goes to.
template <typename Workload>
class FreshEncoder final
    : public EncoderWithLoop<FreshEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    StaticBuffered<typename Workload::template Message<Api>> message(begin,
                                                                     capacity);
    Workload::Fill(message.get(), input);
    return message.Finalize();
  }
};

// A stream over a buffer in chunks. A chunk begins where the writer left the
// last one, so that the bytes of the message follow each other.
class ChunkedStream final : public ScatteredStreamWriter::Delegate {
 public:
  ChunkedStream() : writer_(this) {}

  ScatteredStreamWriter* writer() { return &writer_; }

  ContiguousMemoryRange ChunkFor(uint8_t* begin, size_t capacity) {
    end_ = begin + capacity;
    return ChunkAt(begin);
  }

  ContiguousMemoryRange GetNewBuffer() override {
    return ChunkAt(writer_.write_ptr());
  }

 private:
  ContiguousMemoryRange ChunkAt(uint8_t* begin) const {
    const size_t room = static_cast<size_t>(end_ - begin);
    return {begin, begin + std::min(room, kChunkSize)};
  }

  ScatteredStreamWriter writer_;
  uint8_t* end_ = nullptr;
};

// An encoder without a stream and without a message.
template <typename Workload>
class FusedEncoder final
    : public EncoderWithLoop<FusedEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    const ContiguousMemoryRange buffer{begin, begin + capacity};
    return Workload::Fill(&buffer, input);
  }
};

// An encoder with a stream and without a message.
template <typename Workload>
class FusedStreamEncoder final
    : public EncoderWithLoop<FusedStreamEncoder<Workload>,
                             typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    stream_.writer()->Reset(stream_.ChunkFor(begin, capacity));
    return Workload::Fill(stream_.writer(), input);
  }

 private:
  MovingStream stream_;
};

// An encoder that writes the bytes of a message at the lowest cost: without a
// test for room and without messages, with only a cursor in a register. Sizes
// have four bytes, so that nothing moves. It is a bound for encoders of this
// format on this processor, as Slots is for encoders of any format.
template <size_t num_levels>
class UncheckedEncoder final
    : public EncoderWithLoop<UncheckedEncoder<num_levels>, Event> {
 public:
  BENCH_INLINE size_t EncodeMessage(const Event* events,
                                    uint8_t* begin,
                                    size_t) {
    return static_cast<size_t>(WriteLevels<num_levels>(events, begin) - begin);
  }

 private:
  template <uint32_t field_id, typename T>
  BENCH_INLINE static uint8_t* WriteNumber(T value, uint8_t* pos) {
    using namespace proto_utils;
    constexpr auto kTag =
        proto_utils::internal::EncodeTag(field_id, ProtoWireType::kVarInt);
    kTag.Store(pos);
    return proto_utils::internal::WriteVarIntInline<kTag.size()>(
        ExtendValueForVarIntSerialization(value), pos);
  }

  BENCH_INLINE static uint8_t* WriteString(const Event* event, uint8_t* pos) {
    constexpr auto kTag = proto_utils::internal::EncodeTag(
        pbzero::EveryField::kFieldStringFieldNumber,
        proto_utils::ProtoWireType::kLengthDelimited);
    pos = kTag.Store(pos);
    *pos++ = static_cast<uint8_t>(event->string_size);
    // Two overlapping copies are enough for 16 to 32 bytes.
    memcpy(pos, event->string, 16);
    memcpy(pos + event->string_size - 16,
           event->string + event->string_size - 16, 16);
    return pos + event->string_size;
  }

  template <size_t levels>
  BENCH_INLINE static uint8_t* WriteLevels(const Event* event, uint8_t* pos) {
    using Message = pbzero::EveryField;
    pos =
        WriteNumber<Message::kFieldInt32FieldNumber>(event->number_int32, pos);
    pos = WriteNumber<Message::kFieldUint32FieldNumber>(event->number_uint32,
                                                        pos);
    pos =
        WriteNumber<Message::kFieldInt64FieldNumber>(event->number_int64, pos);
    pos = WriteNumber<Message::kFieldUint64FieldNumber>(event->number_uint64,
                                                        pos);
    pos = WriteString(event, pos);
    if constexpr (levels > 1) {
      *pos++ = static_cast<uint8_t>(
          proto_utils::MakeTag(Message::kFieldNestedFieldNumber,
                               proto_utils::ProtoWireType::kLengthDelimited));
      uint8_t* const child = pos + proto_utils::kMessageLengthFieldSize;
      pos = WriteLevels<levels - 1>(event + 1, child);
      proto_utils::internal::WritePaddedVarIntInline<
          proto_utils::kMessageLengthFieldSize>(
          static_cast<size_t>(pos - child),
          child - proto_utils::kMessageLengthFieldSize);
    }
    return pos;
  }
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<FreshEncoder<Workload>>(Workload::kName, "Protozero", encoders);
  AddEncoder<ReusedEncoder<Workload>>(Workload::kName, "ProtozeroReused",
                                      encoders);
}

template <typename Workload>
void AddWorkloadWithCallSites(EncoderList* encoders) {
  AddEncoderWithCallSites<FreshEncoder<Workload>>(Workload::kName, "Protozero",
                                                  encoders);
  AddEncoderWithCallSites<ReusedEncoder<Workload>>(Workload::kName,
                                                   "ProtozeroReused", encoders);
}

}  // namespace

void AddProtozeroEncoders(EncoderList* encoders) {
  AddWorkloadWithCallSites<SimpleWorkload>(encoders);
  AddEncoderWithCallSites<ReusedEncoder<FusedSimpleWorkload>>(
      SimpleWorkload::kName, "FusedFields", encoders);
  AddEncoderWithCallSites<FusedStreamEncoder<FusedSimpleWorkload>>(
      SimpleWorkload::kName, "FusedStream", encoders);
  AddEncoderWithCallSites<FusedEncoder<FusedSimpleWorkload>>(
      SimpleWorkload::kName, "Fused", encoders);
  AddWorkload<NestedWorkload>(encoders);
  struct InPlace;
  AddWorkload<HelpersWorkload<InPlace>>(encoders);
  AddEncoder<ReusedEncoder<FusedNestedWorkload>>(NestedWorkload::kName,
                                                 "FusedFields", encoders);
  AddEncoder<FusedStreamEncoder<FusedNestedWorkload>>(NestedWorkload::kName,
                                                      "FusedStream", encoders);
  AddEncoder<FusedEncoder<FusedNestedWorkload>>(NestedWorkload::kName, "Fused",
                                                encoders);
  if (protozero::internal::kInlineEncodingMask != 0) {
    AddEncoder<UncheckedEncoder<1>>(SimpleWorkload::kName, "Unchecked",
                                    encoders);
    AddEncoder<UncheckedEncoder<kNestedDepth>>(NestedWorkload::kName,
                                               "Unchecked", encoders);
  }
  AddWorkload<RandomVarintsWorkload>(encoders);
  AddWorkload<TimestampsWorkload>(encoders);
  AddWorkload<RandomBytesWorkload>(encoders);
  AddWorkload<ThirtyFieldsWorkload>(encoders);
  AddWorkload<ChildrenWorkload>(encoders);
  AddWorkload<PackedVarintsWorkload>(encoders);
  AddEncoder<ReusedEncoder<CollectedVarintsWorkload>>(
      CollectedVarintsWorkload::kName, "OneByOne", encoders);
  AddWorkload<PackedFixed64Workload>(encoders);
  AddEncoder<ReusedEncoder<CollectedFixed64Workload>>(
      CollectedFixed64Workload::kName, "OneByOne", encoders);
  AddWorkload<DeepWorkload>(encoders);
  AddEncoder<ReusedEncoder<ChunksWorkload, ChunkedStream>>(
      ChunksWorkload::kName, "Protozero", encoders);
  AddWorkloadWithCallSites<MixedCorpusWorkload>(encoders);
  AddEncoder<FreshEncoder<BytesWorkload>>(BytesWorkload::kName, "Protozero",
                                          encoders);
}

}  // namespace bench
}  // namespace protozero
