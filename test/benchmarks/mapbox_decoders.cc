// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/decoder.h"

// See mapbox_encoders.cc for the name.
#define protozero mapbox
#include <protozero/pbf_reader.hpp>
#undef protozero

namespace protozero {
namespace bench {

namespace {

using Reader = mapbox::pbf_reader;

uint64_t StringTerm(const mapbox::data_view& view) {
  return Term(view.data(), view.size());
}

uint64_t EveryField(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        sum += Term(reader.get_int32());
        break;
      case 2:
        sum += Term(reader.get_int64());
        break;
      case 3:
        sum += Term(reader.get_uint32());
        break;
      case 4:
        sum += Term(reader.get_uint64());
        break;
      case 15:
        sum += EveryField(reader.get_message());
        break;
      case 500:
        sum += StringTerm(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t ThirtyFields(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
      case 16:
        sum += Term(reader.get_int32());
        break;
      case 2:
      case 17:
        sum += Term(reader.get_uint32());
        break;
      case 3:
      case 18:
        sum += Term(reader.get_int64());
        break;
      case 4:
      case 19:
        sum += Term(reader.get_uint64());
        break;
      case 5:
      case 20:
        sum += Term(reader.get_sint32());
        break;
      case 6:
      case 21:
        sum += Term(reader.get_sint64());
        break;
      case 7:
      case 22:
        sum += Term(reader.get_fixed32());
        break;
      case 8:
      case 23:
        sum += Term(reader.get_fixed64());
        break;
      case 9:
      case 24:
        sum += Term(reader.get_sfixed32());
        break;
      case 10:
      case 25:
        sum += Term(reader.get_sfixed64());
        break;
      case 11:
      case 26:
        sum += Term(reader.get_float());
        break;
      case 12:
      case 27:
        sum += Term(reader.get_double());
        break;
      case 13:
      case 28:
        sum += Term(reader.get_bool());
        break;
      case 14:
      case 29:
        sum += Term(reader.get_enum());
        break;
      case 15:
      case 30:
        sum += StringTerm(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t Child(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        sum += Term(reader.get_uint32());
        break;
      case 2:
        sum += Term(reader.get_uint64());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t Children(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    if (reader.tag() == 1)
      sum += Child(reader.get_message());
    else
      reader.skip();
  }
  return sum;
}

uint64_t Packed(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    if (reader.tag() == 1) {
      for (const uint64_t value : reader.get_packed_uint64())
        sum += Term(value);
    } else {
      reader.skip();
    }
  }
  return sum;
}

uint64_t Name(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        sum += Term(reader.get_uint64());
        break;
      case 2:
        sum += StringTerm(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t InternedData(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    if (reader.tag() == 1 || reader.tag() == 3)
      sum += Name(reader.get_message());
    else
      reader.skip();
  }
  return sum;
}

uint64_t Process(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        sum += Term(reader.get_int32());
        break;
      case 6:
        sum += StringTerm(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t TrackDescriptor(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
      case 5:
        sum += Term(reader.get_uint64());
        break;
      case 2:
        sum += StringTerm(reader.get_view());
        break;
      case 11:
      case 12:
        sum += Term(reader.get_int32());
        break;
      case 3:
        sum += Process(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t DebugAnnotation(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
      case 7:
        sum += Term(reader.get_uint64());
        break;
      case 4:
        sum += Term(reader.get_int64());
        break;
      case 6:
        sum += StringTerm(reader.get_view());
        break;
      case 12:
        sum += DebugAnnotation(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t TrackEvent(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 9:
        sum += Term(reader.get_int32());
        break;
      case 3:
      case 11:
        sum += Term(reader.get_uint64());
        break;
      case 23:
        sum += StringTerm(reader.get_view());
        break;
      case 4:
        sum += DebugAnnotation(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t TracePacket(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 8:
        sum += Term(reader.get_uint64());
        break;
      case 10:
      case 13:
        sum += Term(reader.get_uint32());
        break;
      case 87:
        sum += Term(reader.get_bool());
        break;
      case 11:
        sum += TrackEvent(reader.get_message());
        break;
      case 12:
        sum += InternedData(reader.get_message());
        break;
      case 60:
        sum += TrackDescriptor(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return sum;
}

uint64_t Trace(Reader reader) {
  uint64_t sum = 0;
  while (reader.next()) {
    if (reader.tag() == 1)
      sum += TracePacket(reader.get_message());
    else
      reader.skip();
  }
  return sum;
}

template <uint64_t (*kSum)(Reader)>
class Summing final : public DecoderWithLoop<Summing<kSum>> {
 public:
  uint64_t DecodeMessage(const uint8_t* data, size_t size) {
    return kSum(Reader(reinterpret_cast<const char*>(data), size));
  }
};

template <uint64_t (*kSum)(Reader)>
void Add(const char* workload, DecoderList* decoders) {
  AddDecoder<Summing<kSum>>(workload, "Mapbox", decoders);
}

}  // namespace

void AddMapboxDecoders(DecoderList* decoders) {
  Add<EveryField>("Simple", decoders);
  Add<EveryField>("Nested", decoders);
  Add<ThirtyFields>("ThirtyFields", decoders);
  Add<Children>("Children", decoders);
  Add<Packed>("PackedVarints", decoders);
  Add<Trace>("Trace10MB", decoders);
}

}  // namespace bench
}  // namespace protozero
