// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Perfetto's protozero, from the release of its SDK. This file includes no
// header of ours: `protozero` is Perfetto's, except `bench`.
#include <perfetto.h>

#include <string>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"

// The SDK's header does not declare this.
namespace perfetto {
namespace base {
const char* GetVersionCode();
}  // namespace base
}  // namespace perfetto

namespace protozero {
namespace bench {

namespace {

using SchemaType = protozero::proto_utils::ProtoSchemaType;

// The SDK has no plugin. These are the setters that it would make for the part
// of EveryField in test/protos/benchmark_messages.proto that the workloads use.
class PerfettoEveryField : public protozero::Message {
 public:
  void set_field_int32(int32_t value) { Append<SchemaType::kInt32>(1, value); }
  void set_field_int64(int64_t value) { Append<SchemaType::kInt64>(2, value); }
  void set_field_uint32(uint32_t value) {
    Append<SchemaType::kUint32>(3, value);
  }
  void set_field_uint64(uint64_t value) {
    Append<SchemaType::kUint64>(4, value);
  }
  void set_field_string(const char* data, size_t size) {
    AppendBytes(500, data, size);
  }
  template <typename T = PerfettoEveryField>
  T* set_field_nested() {
    return BeginNestedMessage<T>(15);
  }

 private:
  template <SchemaType type, typename T>
  void Append(uint32_t field_id, T value) {
    protozero::internal::FieldWriter<type>::Append(*this, field_id, value);
  }
};

class PerfettoItem : public protozero::Message {
 public:
  void set_id(uint32_t value) {
    protozero::internal::FieldWriter<SchemaType::kUint32>::Append(*this, 1,
                                                                  value);
  }
  void set_value(uint64_t value) {
    protozero::internal::FieldWriter<SchemaType::kUint64>::Append(*this, 2,
                                                                  value);
  }
  void set_name(const char* data, size_t size) { AppendBytes(3, data, size); }
};

// Reply has the numbers of EveryField.
class PerfettoReply : public PerfettoEveryField {
 public:
  template <typename T = PerfettoItem>
  T* add_item() {
    return BeginNestedMessage<T>(15);
  }
};

struct Api {
  using EveryField = PerfettoEveryField;
  using Reply = PerfettoReply;
};

// A new writer and a new message for each event.
template <typename Workload>
class FreshEncoder final
    : public EncoderWithLoop<FreshEncoder<Workload>, Event> {
 public:
  BENCH_INLINE size_t EncodeMessage(const Event* events,
                                    uint8_t* begin,
                                    size_t capacity) {
    protozero::StaticBuffered<PerfettoEveryField> message(begin, capacity);
    Workload::Fill(message.get(), events);
    return message.Finalize();
  }
};

// One message for all events, as Perfetto's trace writers have it.
template <typename Workload>
class ReusedEncoder final
    : public EncoderWithLoop<ReusedEncoder<Workload>, Event> {
 public:
  ReusedEncoder() : delegate_(nullptr, 0), writer_(&delegate_) {}

  BENCH_INLINE size_t EncodeMessage(const Event* events,
                                    uint8_t* begin,
                                    size_t capacity) {
    writer_.Reset({begin, begin + capacity});
    message_.Reset(&writer_);
    Workload::Fill(&message_, events);
    message_.Finalize();
    return static_cast<size_t>(writer_.write_ptr() - begin);
  }

 private:
  protozero::StaticBufferDelegate delegate_;
  protozero::ScatteredStreamWriter writer_;
  protozero::RootMessage<PerfettoEveryField> message_;
};

class StringFreshEncoder final
    : public EncoderWithLoop<StringFreshEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    protozero::HeapBuffered<PerfettoReply> message;
    StringWorkload::Fill(message.get(), input);
    return CopyString(message.SerializeAsString(), begin);
  }
};

class StringReusedEncoder final
    : public EncoderWithLoop<StringReusedEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Reset();
    StringWorkload::Fill(message_.get(), input);
    return CopyString(message_.SerializeAsString(), begin);
  }

 private:
  protozero::HeapBuffered<PerfettoReply> message_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<FreshEncoder<Workload>>(Workload::kName, "Perfetto", encoders);
  AddEncoder<ReusedEncoder<Workload>>(Workload::kName, "PerfettoReused",
                                      encoders);
}

}  // namespace

void AddPerfettoEncoders(EncoderList* encoders) {
  AddWorkload<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
  AddWorkload<HelpersWorkload<>>(encoders);
  AddEncoder<StringFreshEncoder>(StringWorkload::kName, "Perfetto", encoders);
  AddEncoder<StringReusedEncoder>(StringWorkload::kName, "PerfettoReused",
                                  encoders);
}

std::string PerfettoVersion() {
  return std::string("Perfetto ") + ::perfetto::base::GetVersionCode();
}

}  // namespace bench
}  // namespace protozero
