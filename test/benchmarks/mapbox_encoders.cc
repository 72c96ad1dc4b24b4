// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/encoder.h"

// Mapbox's library has our name: our namespace, and its headers in a folder
// called like ours. Renamed within this file, none of its inline functions can
// be merged by the linker with one of ours. Its headers end in .hpp and ours in
// .h, so the folder is no danger; but never include ours in this file, for the
// macros of both start with PROTOZERO_.
#define protozero mapbox
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>
#include <protozero/version.hpp>
#undef protozero

namespace protozero {
namespace bench {

namespace {

using Buffer = mapbox::fixed_size_buffer_adaptor;
using Writer = mapbox::basic_pbf_writer<Buffer>;

// Mapbox's writer takes field numbers, there is no generated code. These are
// the ones of EveryField in test/protos/benchmark_messages.proto.
constexpr mapbox::pbf_tag_type kInt32 = 1;
constexpr mapbox::pbf_tag_type kInt64 = 2;
constexpr mapbox::pbf_tag_type kUint32 = 3;
constexpr mapbox::pbf_tag_type kUint64 = 4;
constexpr mapbox::pbf_tag_type kNested = 15;
constexpr mapbox::pbf_tag_type kString = 500;

struct Simple {
  static constexpr const char* kName = "Simple";

  static void Fill(Writer& writer, const Event* event) {
    writer.add_int32(kInt32, event->number_int32);
    writer.add_uint32(kUint32, event->number_uint32);
    writer.add_int64(kInt64, event->number_int64);
    writer.add_uint64(kUint64, event->number_uint64);
    writer.add_string(kString, event->string, event->string_size);
  }
};

struct Nested {
  static constexpr const char* kName = "Nested";

  // A child closes when its writer is destroyed, innermost first.
  static void Fill(Writer& writer, const Event* events) {
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

// The fixed buffer is the fastest of the buffers that Mapbox's library offers.
template <typename Workload>
class MapboxEncoder final : public EncoderWithLoop<MapboxEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    Buffer buffer(reinterpret_cast<char*>(begin), capacity);
    Writer writer(buffer);
    Workload::Fill(writer, event);
    return buffer.size();
  }
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<MapboxEncoder<Workload>>(Workload::kName, "Mapbox", encoders);
}

}  // namespace

void AddMapboxEncoders(EncoderList* encoders) {
  AddWorkload<Simple>(encoders);
  AddWorkload<Nested>(encoders);
}

const char* MapboxVersion() {
  return "Mapbox protozero " PROTOZERO_VERSION_STRING;
}

}  // namespace bench
}  // namespace protozero
