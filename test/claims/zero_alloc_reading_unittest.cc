// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>

#include <string>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/testing/allocation_monitor.h"

namespace protozero {
namespace {

using proto_utils::ProtoSchemaType;

// Decoders allocate nothing for any number of fields, at any depth.
TEST(ZeroAllocReadingTest, NoDecoderAllocates) {
  HeapBuffered<Message> message;
  for (uint32_t i = 0; i < 1000; ++i) {
    message->AppendVarInt(1, i);
    message->AppendString(500, "a string");
    message->AppendBytes(600, "\1\2\3", 3);
    message->AppendVarInt(700 + i, i);
    Message* child = message.get();
    for (uint32_t depth = 0; depth < 20; ++depth)
      child = child->BeginNestedMessage<Message>(536870911);
    child->AppendVarInt(1, i);
  }
  const std::string bytes = message.SerializeAsString();

  uint64_t sum = 0;
  size_t allocations = 0;
  {
    const test::AllocationCounter counter;
    ProtoDecoder loop(bytes);
    for (Field field = loop.ReadField(); field; field = loop.ReadField())
      sum += field.as_uint64();
    sum += loop.FindField(1699).as_uint64();

    using Decoder = MessageDecoder<1, 2, 500, 600, 536870911>;
    const Decoder decoder(bytes);
    const Decoder copy = decoder;
    for (auto it = copy.GetRepeated<ConstChars>(500); it; ++it)
      sum += (*it).size;
    for (auto it = copy.GetRepeatedScalar<ProtoSchemaType::kInt32>(600); it;
         ++it) {
      sum += static_cast<uint32_t>(*it);
    }
    for (const Field& field : copy.unknown_fields())
      sum += field.id();
    sum += copy.WhichOneof({1, 500});
    for (ConstBytes child = copy.at<536870911>().as_bytes(); child.size > 0;
         child = Decoder(child).at<536870911>().as_bytes()) {
      sum += child.size;
    }
    const SelectiveTypedProtoDecoder<999> selective(
        bytes.data(), bytes.size(), SelectiveDecodeMask<1, 500>());
    sum += selective.at<1>().as_uint32();
    const TypedProtoDecoder<999> typed(bytes);
    sum += typed.at<700>().valid();
    allocations = counter.count();
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace protozero
