// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <random>
#include <string>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/benchmarks/decoder.h"
#include "test/benchmarks/perfetto_trace.pbzero.h"
#include "test/benchmarks/random.h"

namespace protozero {
namespace bench {

namespace {

using proto_utils::ProtoSchemaType;

uint64_t StringTerm(const Field& field) {
  const ConstChars chars = field.as_string();
  return Term(chars.data, chars.size);
}

// The field loop: the code that any user of ProtoDecoder writes.

struct FieldLoop {
  static uint64_t EveryField(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
          sum += Term(f.as_int32());
          break;
        case 2:
          sum += Term(f.as_int64());
          break;
        case 3:
          sum += Term(f.as_uint32());
          break;
        case 4:
          sum += Term(f.as_uint64());
          break;
        case 15:
          sum += EveryField(ProtoDecoder(f.as_bytes()));
          break;
        case 500:
          sum += StringTerm(f);
          break;
      }
    }
    return sum;
  }

  static uint64_t ThirtyFields(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
        case 16:
          sum += Term(f.as_int32());
          break;
        case 2:
        case 17:
          sum += Term(f.as_uint32());
          break;
        case 3:
        case 18:
          sum += Term(f.as_int64());
          break;
        case 4:
        case 19:
          sum += Term(f.as_uint64());
          break;
        case 5:
        case 20:
          sum += Term(f.as_sint32());
          break;
        case 6:
        case 21:
          sum += Term(f.as_sint64());
          break;
        case 7:
        case 22:
          sum += Term(f.as_uint32());
          break;
        case 8:
        case 23:
          sum += Term(f.as_uint64());
          break;
        case 9:
        case 24:
          sum += Term(f.as_int32());
          break;
        case 10:
        case 25:
          sum += Term(f.as_int64());
          break;
        case 11:
        case 26:
          sum += Term(f.as_float());
          break;
        case 12:
        case 27:
          sum += Term(f.as_double());
          break;
        case 13:
        case 28:
          sum += Term(f.as_bool());
          break;
        case 14:
        case 29:
          sum += Term(f.as_int32());
          break;
        case 15:
        case 30:
          sum += StringTerm(f);
          break;
      }
    }
    return sum;
  }

  static uint64_t Children(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      if (f.id() == 1)
        sum += Child(ProtoDecoder(f.as_bytes()));
    }
    return sum;
  }

  static uint64_t Child(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
          sum += Term(f.as_uint32());
          break;
        case 2:
          sum += Term(f.as_uint64());
          break;
      }
    }
    return sum;
  }

  static uint64_t Packed(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      if (f.id() != 1)
        continue;
      for (const uint64_t value :
           PackedRepeatedFieldIterator<proto_utils::ProtoWireType::kVarInt,
                                       uint64_t>(f.data(), f.size(), nullptr)) {
        sum += Term(value);
      }
    }
    return sum;
  }

  static uint64_t Trace(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      if (f.id() == 1)
        sum += TracePacket(ProtoDecoder(f.as_bytes()));
    }
    return sum;
  }

  static uint64_t TracePacket(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 8:
          sum += Term(f.as_uint64());
          break;
        case 10:
        case 13:
          sum += Term(f.as_uint32());
          break;
        case 87:
          sum += Term(f.as_bool());
          break;
        case 11:
          sum += TrackEvent(ProtoDecoder(f.as_bytes()));
          break;
        case 12:
          sum += InternedData(ProtoDecoder(f.as_bytes()));
          break;
        case 60:
          sum += TrackDescriptor(ProtoDecoder(f.as_bytes()));
          break;
      }
    }
    return sum;
  }

  static uint64_t TrackEvent(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 9:
          sum += Term(f.as_int32());
          break;
        case 3:
        case 11:
          sum += Term(f.as_uint64());
          break;
        case 23:
          sum += StringTerm(f);
          break;
        case 4:
          sum += DebugAnnotation(ProtoDecoder(f.as_bytes()));
          break;
      }
    }
    return sum;
  }

  static uint64_t DebugAnnotation(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
        case 7:
          sum += Term(f.as_uint64());
          break;
        case 4:
          sum += Term(f.as_int64());
          break;
        case 6:
          sum += StringTerm(f);
          break;
        case 12:
          sum += DebugAnnotation(ProtoDecoder(f.as_bytes()));
          break;
      }
    }
    return sum;
  }

  static uint64_t InternedData(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      if (f.id() == 1 || f.id() == 3)
        sum += Name(ProtoDecoder(f.as_bytes()));
    }
    return sum;
  }

  static uint64_t Name(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
          sum += Term(f.as_uint64());
          break;
        case 2:
          sum += StringTerm(f);
          break;
      }
    }
    return sum;
  }

  static uint64_t TrackDescriptor(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
        case 5:
          sum += Term(f.as_uint64());
          break;
        case 2:
          sum += StringTerm(f);
          break;
        case 11:
        case 12:
          sum += Term(f.as_int32());
          break;
        case 3:
          sum += Process(ProtoDecoder(f.as_bytes()));
          break;
      }
    }
    return sum;
  }

  static uint64_t Process(ProtoDecoder decoder) {
    uint64_t sum = 0;
    for (Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
      switch (f.id()) {
        case 1:
          sum += Term(f.as_int32());
          break;
        case 6:
          sum += StringTerm(f);
          break;
      }
    }
    return sum;
  }
};

// Typed decoders: they decode all fields of the schema, then read one after the
// other.

struct Typed {
  using EveryFieldDecoder = MessageDecoder<1,
                                           2,
                                           3,
                                           4,
                                           5,
                                           6,
                                           7,
                                           8,
                                           9,
                                           10,
                                           11,
                                           12,
                                           13,
                                           14,
                                           15,
                                           500,
                                           505,
                                           999>;
  static uint64_t EveryField(ConstBytes bytes) {
    const EveryFieldDecoder d(bytes);
    uint64_t sum = Term(d.at<1>().as_int32()) + Term(d.at<2>().as_int64()) +
                   Term(d.at<3>().as_uint32()) + Term(d.at<4>().as_uint64()) +
                   StringTerm(d.at<500>());
    if (d.at<15>().valid())
      sum += EveryField(d.at<15>().as_bytes());
    return sum;
  }

  using ThirtyFieldsDecoder = MessageDecoder<1,
                                             2,
                                             3,
                                             4,
                                             5,
                                             6,
                                             7,
                                             8,
                                             9,
                                             10,
                                             11,
                                             12,
                                             13,
                                             14,
                                             15,
                                             16,
                                             17,
                                             18,
                                             19,
                                             20,
                                             21,
                                             22,
                                             23,
                                             24,
                                             25,
                                             26,
                                             27,
                                             28,
                                             29,
                                             30>;
  static uint64_t ThirtyFields(ConstBytes bytes) {
    const ThirtyFieldsDecoder d(bytes);
    return Fifteen<0>(d) + Fifteen<15>(d);
  }
  template <uint32_t offset>
  static uint64_t Fifteen(const ThirtyFieldsDecoder& d) {
    return Term(d.at<offset + 1>().as_int32()) +
           Term(d.at<offset + 2>().as_uint32()) +
           Term(d.at<offset + 3>().as_int64()) +
           Term(d.at<offset + 4>().as_uint64()) +
           Term(d.at<offset + 5>().as_sint32()) +
           Term(d.at<offset + 6>().as_sint64()) +
           Term(d.at<offset + 7>().as_uint32()) +
           Term(d.at<offset + 8>().as_uint64()) +
           Term(d.at<offset + 9>().as_int32()) +
           Term(d.at<offset + 10>().as_int64()) +
           Term(d.at<offset + 11>().as_float()) +
           Term(d.at<offset + 12>().as_double()) +
           Term(d.at<offset + 13>().as_bool()) +
           Term(d.at<offset + 14>().as_int32()) +
           StringTerm(d.at<offset + 15>());
  }

  static uint64_t Children(ConstBytes bytes) {
    const MessageDecoder<1> d(bytes);
    uint64_t sum = 0;
    for (auto it = d.GetRepeated<ConstBytes>(1); it; ++it) {
      const MessageDecoder<1, 2> child(*it);
      sum += Term(child.at<1>().as_uint32()) + Term(child.at<2>().as_uint64());
    }
    return sum;
  }

  static uint64_t Packed(ConstBytes bytes) {
    const MessageDecoder<1, 2> d(bytes);
    uint64_t sum = 0;
    for (auto it = d.GetRepeatedScalar<ProtoSchemaType::kUint64>(1); it; ++it)
      sum += Term(*it);
    return sum;
  }

  static uint64_t Trace(ConstBytes bytes) {
    const MessageDecoder<1> d(bytes);
    uint64_t sum = 0;
    for (auto it = d.GetRepeated<ConstBytes>(1); it; ++it)
      sum += TracePacket(*it);
    return sum;
  }

  static uint64_t TracePacket(ConstBytes bytes) {
    const MessageDecoder<6, 8, 10, 11, 12, 13, 42, 58, 59, 60, 87> d(bytes);
    uint64_t sum = Term(d.at<8>().as_uint64()) + Term(d.at<10>().as_uint32()) +
                   Term(d.at<13>().as_uint32()) + Term(d.at<87>().as_bool());
    if (d.at<11>().valid())
      sum += TrackEvent(d.at<11>().as_bytes());
    if (d.at<12>().valid())
      sum += InternedData(d.at<12>().as_bytes());
    if (d.at<60>().valid())
      sum += TrackDescriptor(d.at<60>().as_bytes());
    return sum;
  }

  static uint64_t TrackEvent(ConstBytes bytes) {
    const MessageDecoder<3, 4, 9, 10, 11, 22, 23, 30, 44, 47, 48> d(bytes);
    uint64_t sum = Term(d.at<9>().as_int32()) + Term(d.at<11>().as_uint64()) +
                   StringTerm(d.at<23>());
    for (auto it = d.GetRepeatedScalar<ProtoSchemaType::kUint64>(3); it; ++it)
      sum += Term(*it);
    for (auto it = d.GetRepeated<ConstBytes>(4); it; ++it)
      sum += DebugAnnotation(*it);
    return sum;
  }

  static uint64_t DebugAnnotation(ConstBytes bytes) {
    const MessageDecoder<1, 2, 3, 4, 5, 6, 7, 10, 11, 12> d(bytes);
    uint64_t sum = Term(d.at<1>().as_uint64()) + Term(d.at<4>().as_int64()) +
                   StringTerm(d.at<6>()) + Term(d.at<7>().as_uint64());
    for (auto it = d.GetRepeated<ConstBytes>(12); it; ++it)
      sum += DebugAnnotation(*it);
    return sum;
  }

  static uint64_t InternedData(ConstBytes bytes) {
    const MessageDecoder<1, 2, 3> d(bytes);
    uint64_t sum = 0;
    for (auto it = d.GetRepeated<ConstBytes>(1); it; ++it)
      sum += Name(*it);
    for (auto it = d.GetRepeated<ConstBytes>(3); it; ++it)
      sum += Name(*it);
    return sum;
  }

  static uint64_t Name(ConstBytes bytes) {
    const MessageDecoder<1, 2> d(bytes);
    return Term(d.at<1>().as_uint64()) + StringTerm(d.at<2>());
  }

  static uint64_t TrackDescriptor(ConstBytes bytes) {
    const MessageDecoder<1, 2, 3, 4, 5, 8, 11, 12, 14> d(bytes);
    uint64_t sum = Term(d.at<1>().as_uint64()) + Term(d.at<5>().as_uint64()) +
                   StringTerm(d.at<2>()) + Term(d.at<11>().as_int32()) +
                   Term(d.at<12>().as_int32());
    if (d.at<3>().valid())
      sum += Process(d.at<3>().as_bytes());
    return sum;
  }

  static uint64_t Process(ConstBytes bytes) {
    const MessageDecoder<1, 2, 6> d(bytes);
    return Term(d.at<1>().as_int32()) + StringTerm(d.at<6>());
  }
};

// The selective decoder: it decodes the numbers as fields, and all others as
// unknown fields.
struct Selective {
  static uint64_t EveryField(ConstBytes bytes) {
    const SelectiveTypedProtoDecoder<999> d(bytes.data, bytes.size,
                                            SelectiveDecodeMask<1, 2, 3, 4>());
    uint64_t sum = Term(d.at<1>().as_int32()) + Term(d.at<2>().as_int64()) +
                   Term(d.at<3>().as_uint32()) + Term(d.at<4>().as_uint64());
    for (const Field& f : d.unknown_fields()) {
      if (f.id() == 500)
        sum += StringTerm(f);
      else if (f.id() == 15)
        sum += EveryField(f.as_bytes());
    }
    return sum;
  }
};

template <typename Argument, uint64_t (*kSum)(Argument)>
class Summing final : public DecoderWithLoop<Summing<Argument, kSum>> {
 public:
  uint64_t DecodeMessage(const uint8_t* data, size_t size) {
    return kSum(Argument(data, size));
  }
};

template <uint64_t (*kSum)(ProtoDecoder)>
void AddFieldLoop(const char* workload, DecoderList* decoders) {
  AddDecoder<Summing<ProtoDecoder, kSum>>(workload, "FieldLoop", decoders);
}

template <uint64_t (*kSum)(ConstBytes)>
void AddTyped(const char* workload, DecoderList* decoders) {
  AddDecoder<Summing<ConstBytes, kSum>>(workload, "Typed", decoders);
}

}  // namespace

void AddProtozeroDecoders(DecoderList* decoders) {
  AddFieldLoop<FieldLoop::EveryField>("Simple", decoders);
  AddFieldLoop<FieldLoop::EveryField>("Nested", decoders);
  AddFieldLoop<FieldLoop::ThirtyFields>("ThirtyFields", decoders);
  AddFieldLoop<FieldLoop::Children>("Children", decoders);
  AddFieldLoop<FieldLoop::Packed>("PackedVarints", decoders);
  AddFieldLoop<FieldLoop::Trace>("Trace10MB", decoders);
  AddTyped<Typed::EveryField>("Simple", decoders);
  AddTyped<Typed::EveryField>("Nested", decoders);
  AddTyped<Typed::ThirtyFields>("ThirtyFields", decoders);
  AddTyped<Typed::Children>("Children", decoders);
  AddTyped<Typed::Packed>("PackedVarints", decoders);
  AddTyped<Typed::Trace>("Trace10MB", decoders);
  AddDecoder<Summing<ConstBytes, Selective::EveryField>>("Simple", "Selective",
                                                         decoders);
  AddDecoder<Summing<ConstBytes, Selective::EveryField>>("Nested", "Selective",
                                                         decoders);
}

std::string MakeTrace(size_t bytes) {
  namespace trace = ::perfetto::protos::pbzero;
  std::mt19937_64 random(kRandomSeed);
  const std::string letters =
      "obj/src/protozero/libprotozero.scattered_stream_writer_unittest.o "
      "gen/src/tracing/protos/perfetto_trace.pbzero.h";
  HeapBuffered<trace::Trace> root(65536, 1 << 20);
  const auto add_string = [&](auto set) {
    const size_t size = RandomBetween(random, 3, 60);
    set(letters.data() + RandomBetween(random, 0, letters.size() - size), size);
  };

  trace::TracePacket* strings = root->add_packet();
  strings->set_trusted_packet_sequence_id(77);
  strings->set_first_packet_on_sequence(true);
  strings->set_sequence_flags(1);
  trace::InternedData* interned = strings->set_interned_data();
  for (uint64_t iid = 1; iid <= 8; ++iid) {
    auto* category = interned->add_event_categories();
    category->set_iid(iid);
    add_string([&](const char* s, size_t n) { category->set_name(s, n); });
    auto* name = interned->add_debug_annotation_names();
    name->set_iid(iid);
    add_string([&](const char* s, size_t n) { name->set_name(s, n); });
  }
  auto* process = strings->set_track_descriptor();
  process->set_uuid(random());
  auto* descriptor = process->set_process();
  descriptor->set_pid(1234);
  add_string(
      [&](const char* s, size_t n) { descriptor->set_process_name(s, n); });
  for (int i = 0; i < 16; ++i) {
    trace::TracePacket* packet = root->add_packet();
    packet->set_trusted_packet_sequence_id(77);
    auto* track = packet->set_track_descriptor();
    track->set_uuid(random());
    track->set_parent_uuid(random());
    track->set_sibling_order_rank(i - 8);
    add_string([&](const char* s, size_t n) { track->set_name(s, n); });
  }

  uint64_t timestamp = 123456789012345;
  while (root.get()->stream_writer()->written() < bytes) {
    trace::TracePacket* packet = root->add_packet();
    packet->set_trusted_packet_sequence_id(77);
    packet->set_sequence_flags(2);
    timestamp += RandomWithUniformBitLength(random, 23);
    packet->set_timestamp(timestamp);
    trace::TrackEvent* event = packet->set_track_event();
    event->set_track_uuid((uint64_t{1} << 40) + RandomBetween(random, 1, 16));
    if (random() % 2 == 0) {
      event->set_type(trace::TrackEvent::TYPE_SLICE_END);
      continue;
    }
    event->set_type(trace::TrackEvent::TYPE_SLICE_BEGIN);
    event->add_category_iids(RandomBetween(random, 1, 8));
    add_string([&](const char* s, size_t n) { event->set_name(s, n); });
    auto* hash = event->add_debug_annotations();
    hash->set_name_iid(1);
    hash->set_pointer_value(random());
    if (random() % 2 == 0) {
      auto* time = event->add_debug_annotations();
      time->set_name_iid(2);
      time->set_int_value(static_cast<int64_t>(RandomOfBitLength(random, 60)));
    }
    if (random() % 4 == 0) {
      auto* outputs = event->add_debug_annotations();
      outputs->set_name_iid(3);
      for (uint64_t i = RandomBetween(random, 1, 4); i > 0; --i) {
        auto* output = outputs->add_array_values();
        add_string(
            [&](const char* s, size_t n) { output->set_string_value(s, n); });
      }
    }
  }
  return root.SerializeAsString();
}

}  // namespace bench
}  // namespace protozero
