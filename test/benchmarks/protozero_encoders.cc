// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/contiguous_memory_range.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/protos/benchmark_messages.pbzero.h"

namespace protozero {
namespace bench {

namespace {

using ::protozero::benchmark::pbzero::EveryField;

// A writer and a message per event, over the buffer that the event goes to.
template <typename Workload>
class FreshEncoder final : public EncoderWithLoop<FreshEncoder<Workload>> {
 public:
  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    StaticBuffered<EveryField> message(begin, capacity);
    Workload::Fill(message.get(), event);
    return message.Finalize();
  }
};

// One message for all events, as a thread that traces keeps it: the stream
// moves on to the next buffer, the message is reset.
template <typename Workload>
class ReusedEncoder final : public EncoderWithLoop<ReusedEncoder<Workload>> {
 public:
  ReusedEncoder() : delegate_(nullptr, 0), writer_(&delegate_) {}

  size_t Encode(const Event* event, uint8_t* begin, size_t capacity) override {
    writer_.Reset(ContiguousMemoryRange{begin, begin + capacity});
    message_.Reset(&writer_);
    Workload::Fill(&message_, event);
    return message_.Finalize();
  }

 private:
  StaticBufferDelegate delegate_;  // never asked: the message fits
  ScatteredStreamWriter writer_;
  RootMessage<EveryField> message_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<FreshEncoder<Workload>>(Workload::kName, "Protozero", encoders);
  AddEncoder<ReusedEncoder<Workload>>(Workload::kName, "ProtozeroReused",
                                      encoders);
}

}  // namespace

void AddProtozeroEncoders(EncoderList* encoders) {
  AddWorkload<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
}

}  // namespace bench
}  // namespace protozero
