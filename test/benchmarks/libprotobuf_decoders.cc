// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/arena.h>

#include <array>
#include <string>

#include "test/benchmarks/decoder.h"
#include "test/benchmarks/perfetto_trace.pb.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {

namespace {

namespace pb = ::protozero::benchmark;
namespace trace = ::perfetto::protos;

uint64_t StringTerm(const std::string& string) {
  return Term(string.data(), string.size());
}

uint64_t Sum(const pb::EveryField& m) {
  uint64_t sum = Term(m.field_int32()) + Term(m.field_int64()) +
                 Term(m.field_uint32()) + Term(m.field_uint64()) +
                 StringTerm(m.field_string());
  if (m.has_field_nested())
    sum += Sum(m.field_nested());
  return sum;
}

uint64_t Sum(const pb::ThirtyFields& m) {
  return Term(m.int32_a()) + Term(m.uint32_a()) + Term(m.int64_a()) +
         Term(m.uint64_a()) + Term(m.sint32_a()) + Term(m.sint64_a()) +
         Term(m.fixed32_a()) + Term(m.fixed64_a()) + Term(m.sfixed32_a()) +
         Term(m.sfixed64_a()) + Term(m.float_a()) + Term(m.double_a()) +
         Term(m.bool_a()) + Term(int32_t{m.enum_a()}) +
         StringTerm(m.string_a()) + Term(m.int32_b()) + Term(m.uint32_b()) +
         Term(m.int64_b()) + Term(m.uint64_b()) + Term(m.sint32_b()) +
         Term(m.sint64_b()) + Term(m.fixed32_b()) + Term(m.fixed64_b()) +
         Term(m.sfixed32_b()) + Term(m.sfixed64_b()) + Term(m.float_b()) +
         Term(m.double_b()) + Term(m.bool_b()) + Term(int32_t{m.enum_b()}) +
         StringTerm(m.string_b());
}

uint64_t Sum(const pb::Children& m) {
  uint64_t sum = 0;
  for (const pb::Child& child : m.child())
    sum += Term(child.id()) + Term(child.value());
  return sum;
}

uint64_t Sum(const pb::Packed& m) {
  uint64_t sum = 0;
  for (const uint64_t value : m.varints())
    sum += Term(value);
  return sum;
}

uint64_t Sum(const trace::DebugAnnotation& m) {
  uint64_t sum = Term(m.name_iid()) + Term(m.int_value()) +
                 StringTerm(m.string_value()) + Term(m.pointer_value());
  for (const auto& value : m.array_values())
    sum += Sum(value);
  return sum;
}

uint64_t Sum(const trace::TrackEvent& m) {
  uint64_t sum =
      Term(int32_t{m.type()}) + Term(m.track_uuid()) + StringTerm(m.name());
  for (const uint64_t iid : m.category_iids())
    sum += Term(iid);
  for (const auto& annotation : m.debug_annotations())
    sum += Sum(annotation);
  return sum;
}

uint64_t Sum(const trace::InternedData& m) {
  uint64_t sum = 0;
  for (const auto& category : m.event_categories())
    sum += Term(category.iid()) + StringTerm(category.name());
  for (const auto& name : m.debug_annotation_names())
    sum += Term(name.iid()) + StringTerm(name.name());
  return sum;
}

uint64_t Sum(const trace::TrackDescriptor& m) {
  uint64_t sum = Term(m.uuid()) + Term(m.parent_uuid()) + StringTerm(m.name()) +
                 Term(int32_t{m.child_ordering()}) +
                 Term(m.sibling_order_rank());
  if (m.has_process())
    sum += Term(m.process().pid()) + StringTerm(m.process().process_name());
  return sum;
}

uint64_t Sum(const trace::Trace& m) {
  uint64_t sum = 0;
  for (const trace::TracePacket& packet : m.packet()) {
    sum +=
        Term(packet.timestamp()) + Term(packet.trusted_packet_sequence_id()) +
        Term(packet.sequence_flags()) + Term(packet.first_packet_on_sequence());
    if (packet.has_track_event())
      sum += Sum(packet.track_event());
    if (packet.has_interned_data())
      sum += Sum(packet.interned_data());
    if (packet.has_track_descriptor())
      sum += Sum(packet.track_descriptor());
  }
  return sum;
}

// Returns the sum of the message's fields, or 0 if it is malformed.
template <typename Message>
uint64_t ParseAndSum(Message* message, const uint8_t* data, size_t size) {
  if (!message->ParseFromArray(data, static_cast<int>(size)))
    return 0;
  return Sum(*message);
}

template <typename Message>
class FreshDecoder final : public DecoderWithLoop<FreshDecoder<Message>> {
 public:
  uint64_t DecodeMessage(const uint8_t* data, size_t size) {
    Message message;
    return ParseAndSum(&message, data, size);
  }
};

// One message for all inputs. Its strings and children keep their memory.
template <typename Message>
class ReusedDecoder final : public DecoderWithLoop<ReusedDecoder<Message>> {
 public:
  uint64_t DecodeMessage(const uint8_t* data, size_t size) {
    return ParseAndSum(&message_, data, size);
  }

 private:
  Message message_;
};

// A new arena for each message, over a block that all share, as with encoders.
template <typename Message>
class ArenaDecoder final : public DecoderWithLoop<ArenaDecoder<Message>> {
 public:
  uint64_t DecodeMessage(const uint8_t* data, size_t size) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block_.data();
    options.initial_block_size = block_.size();
    google::protobuf::Arena arena(options);
    return ParseAndSum(google::protobuf::Arena::CreateMessage<Message>(&arena),
                       data, size);
  }

 private:
  alignas(16) std::array<char, 16 * 1024> block_;
};

template <typename Message>
void AddAll(const char* workload, DecoderList* decoders) {
  AddDecoder<FreshDecoder<Message>>(workload, "Libprotobuf", decoders);
  AddDecoder<ReusedDecoder<Message>>(workload, "LibprotobufReused", decoders);
  AddDecoder<ArenaDecoder<Message>>(workload, "LibprotobufArena", decoders);
}

}  // namespace

void AddLibprotobufDecoders(DecoderList* decoders) {
  AddAll<pb::EveryField>("Simple", decoders);
  AddAll<pb::EveryField>("Nested", decoders);
  AddAll<pb::ThirtyFields>("ThirtyFields", decoders);
  AddAll<pb::Children>("Children", decoders);
  AddAll<pb::Packed>("PackedVarints", decoders);
  AddAll<trace::Trace>("Trace10MB", decoders);
}

}  // namespace bench
}  // namespace protozero
