// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <pb_encode.h>
#include <string.h>

#include "test/benchmarks/encoder.h"
#include "test/protos/benchmark_messages.nanopb.h"

namespace protozero {
namespace bench {

namespace {

using Message = protozero_benchmark_EveryField;

struct Simple {
  static constexpr const char* kName = "Simple";
  static constexpr size_t kMessages = 1;

  static void Fill(Message* message, const Event* event) {
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
};

struct Nested {
  static constexpr const char* kName = "Nested";
  static constexpr size_t kMessages = kNestedDepth;

  static void Fill(Message* messages, const Event* events) {
    for (size_t level = 0; level < kNestedDepth; ++level) {
      Simple::Fill(&messages[level], &events[level]);
      if (level > 0)
        messages[level - 1].field_nested = &messages[level];
    }
  }
};

template <typename Workload>
class NanopbEncoder final : public EncoderWithLoop<NanopbEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    Message messages[Workload::kMessages] = {};
    Workload::Fill(messages, event);
    pb_ostream_t stream = pb_ostream_from_buffer(begin, capacity);
    if (!pb_encode(&stream, protozero_benchmark_EveryField_fields, messages))
      return 0;
    return stream.bytes_written;
  }
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<NanopbEncoder<Workload>>(Workload::kName, "Nanopb", encoders);
}

}  // namespace

void AddNanopbEncoders(EncoderList* encoders) {
  AddWorkload<Simple>(encoders);
  AddWorkload<Nested>(encoders);
}

const char* NanopbVersion() {
  return NANOPB_VERSION;
}

}  // namespace bench
}  // namespace protozero
