// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests that the decoders that the benchmarks compare do the same work: each of
// them adds up all fields of a message, and libprotobuf's reflection computes
// the expected sum.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/benchmarks/decoder.h"
#include "test/benchmarks/perfetto_trace.pb.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

uint64_t SumOf(const Message& message);

uint64_t SumOfField(const Message& message,
                    const FieldDescriptor* field,
                    int index) {  // The element of a repeated field, or -1.
  const Reflection* reflection = message.GetReflection();
#define VALUE(type)                                  \
  (index < 0 ? reflection->Get##type(message, field) \
             : reflection->GetRepeated##type(message, field, index))
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Term(VALUE(Int32));
    case FieldDescriptor::CPPTYPE_INT64:
      return Term(VALUE(Int64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return Term(VALUE(UInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Term(VALUE(UInt64));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Term(VALUE(Float));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Term(VALUE(Double));
    case FieldDescriptor::CPPTYPE_BOOL:
      return Term(VALUE(Bool));
    case FieldDescriptor::CPPTYPE_ENUM:
      return Term(int32_t{VALUE(EnumValue)});
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string string = VALUE(String);
      return Term(string.data(), string.size());
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return SumOf(VALUE(Message));
  }
#undef VALUE
  return 0;
}

uint64_t SumOf(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  uint64_t sum = 0;
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      sum += SumOfField(message, field, -1);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      sum += SumOfField(message, field, i);
  }
  EXPECT_TRUE(reflection->GetUnknownFields(message).empty());
  return sum;
}

std::unique_ptr<Message> NewMessage(const std::string& workload) {
  if (workload == "Simple" || workload == "Nested")
    return std::make_unique<benchmark::EveryField>();
  if (workload == "ThirtyFields")
    return std::make_unique<benchmark::ThirtyFields>();
  if (workload == "Children")
    return std::make_unique<benchmark::Children>();
  if (workload == "PackedVarints")
    return std::make_unique<benchmark::Packed>();
  return std::make_unique<::perfetto::protos::Trace>();
}

class DecodeSumsTest : public testing::TestWithParam<DecodeWorkload> {};

TEST_P(DecodeSumsTest, AreThoseOfReflection) {
  const DecodeWorkload& workload = GetParam();
  const std::unique_ptr<EncodedMessages> messages =
      workload.make_messages(workload);
  ASSERT_TRUE(messages);
  std::vector<uint64_t> expected;
  for (size_t i = 0; i < messages->size(); ++i) {
    const EncodedMessages::View& view = messages->At(i);
    const std::unique_ptr<Message> message = NewMessage(workload.name);
    ASSERT_TRUE(
        message->ParseFromArray(view.data, static_cast<int>(view.size)));
    expected.push_back(SumOf(*message));
  }

  size_t decoders = 0;
  for (const DecoderEntry& entry : AllDecoders()) {
    if (entry.workload != workload.name)
      continue;
    SCOPED_TRACE(entry.implementation);
    ++decoders;
    const std::unique_ptr<Decoder> decoder = entry.create();
    uint64_t sum = 0;
    for (size_t i = 0; i < messages->size(); ++i) {
      ASSERT_EQ(decoder->Decode(messages->At(i)), expected[i]) << i;
      sum += expected[i];
    }
    EXPECT_EQ(decoder->DecodeBatch(*messages, 0, messages->size()), sum);
  }
  EXPECT_GE(decoders, 6u);
}

INSTANTIATE_TEST_SUITE_P(
    Workloads,
    DecodeSumsTest,
    testing::ValuesIn(AllDecodeWorkloads()),
    [](const testing::TestParamInfo<DecodeWorkload>& info) {
      return info.param.name + (info.param.suffix.empty() ? "" : "Random");
    });

TEST(DecodeWorkloadTest, TraceHasEveryKindOfPacket) {
  ::perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(MakeTrace(100000)));
  bool event = false;
  bool strings = false;
  bool track = false;
  for (const auto& packet : trace.packet()) {
    event |= packet.track_event().debug_annotations_size() == 3;
    strings |= packet.interned_data().event_categories_size() > 1;
    track |= packet.track_descriptor().sibling_order_rank() < 0;
  }
  EXPECT_TRUE(event && strings && track);
}

}  // namespace
}  // namespace bench
}  // namespace protozero
