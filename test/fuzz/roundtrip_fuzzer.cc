// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Compares two sets of fields: those that generated decoders read and generated
// setters write again, and those that libprotobuf reads.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "protozero/proto_decoder.h"
#include "test/differential/dynamic_types.h"
#include "test/fuzz/generated_types.h"
#include "test/fuzz/message_mutator.h"

namespace {

using google::protobuf::FieldDescriptor;
using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ProtoSchemaToWireType;
using protozero::proto_utils::ProtoSchemaType;
using protozero::proto_utils::ProtoWireType;
using namespace protozero::test;

// The depth is below the limit of all readers here, so no reader reaches its
// limit.
constexpr int kMaxDepth = 60;

DynamicTypes& Types() {
  static DynamicTypes& types = *new DynamicTypes(
      DifferentialDescriptors(), DynamicTypes::Strictness::kWireOnly);
  return types;
}

ProtoWireType WireTypeOf(const FieldDescriptor& field) {
  return field.type() == FieldDescriptor::TYPE_GROUP
             ? ProtoWireType::kStartGroup
             : ProtoSchemaToWireType(
                   static_cast<ProtoSchemaType>(field.type()));
}

ConstBytes View(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// Returns true if |bytes| are whole numbers.
bool IsPacked(ConstBytes bytes, ProtoWireType element) {
  if (element != ProtoWireType::kVarInt) {
    const size_t size = element == ProtoWireType::kFixed64 ? 8 : 4;
    return bytes.size % size == 0;
  }
  const uint8_t* pos = bytes.data;
  const uint8_t* const end = pos + bytes.size;
  while (pos != end) {
    const uint8_t* const begin = pos;
    uint64_t value;
    pos = protozero::proto_utils::ParseVarInt(pos, end, &value);
    if (pos == begin)
      return false;
  }
  return true;
}

// Removes fields that readers may see in different ways. If a field has another
// wire type than the schema says, it is a field for our decoders and an unknown
// one for libprotobuf. Extensions other than those of |extension_scope| are
// unknown to our reader of this type, and known to libprotobuf. Tags and sizes
// may be longer than necessary, and the two accept different ones.
//
// Returns false if the message is malformed, at any depth. Only libprotobuf
// reads a malformed message that another member of a oneof has replaced.
bool Normalize(ConstBytes bytes,
               const google::protobuf::Descriptor& type,
               const std::string& extension_scope,
               int depth,
               std::string* out) {
  if (depth > kMaxDepth)
    return false;
  ProtoDecoder decoder(bytes);
  while (Field field = decoder.ReadField()) {
    const auto id = static_cast<int>(field.id());
    const FieldDescriptor* known = type.FindFieldByNumber(id);
    if (known == nullptr) {
      known = Types().pool().FindExtensionByNumber(&type, id);
      if (known != nullptr &&
          (known->extension_scope() == nullptr ||
           known->extension_scope()->full_name() != extension_scope)) {
        continue;
      }
    }
    if (known == nullptr) {
      if (field.type() != ProtoWireType::kStartGroup)
        field.SerializeAndAppendTo(out);
      continue;
    }
    const bool is_packed =
        known->is_packable() && field.type() == ProtoWireType::kLengthDelimited;
    if (field.type() != WireTypeOf(*known) && !is_packed)
      continue;
    if (is_packed && !IsPacked(field.as_bytes(), WireTypeOf(*known)))
      return false;
    std::string child;
    if (known->message_type() != nullptr) {
      if (!Normalize(field.as_bytes(), *known->message_type(), std::string(),
                     depth + 1, &child)) {
        return false;
      }
      field.initialize(field.id(), field.type(),
                       reinterpret_cast<uintptr_t>(child.data()),
                       static_cast<uint32_t>(child.size()));
    }
    field.SerializeAndAppendTo(out);
  }
  return decoder.status() == protozero::DecodeStatus::kOk;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                          size_t size,
                                          size_t max_size,
                                          unsigned int seed);
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                          size_t size,
                                          size_t max_size,
                                          unsigned int seed) {
  const TypedInput input = ParseTypedInput(data, size);
  if (!input.test_case || seed % 32 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const auto message = Types().NewMessage(input.test_case->full_name);
  constexpr size_t kHeaderSize = TypedInput::kHeaderSize;
  return kHeaderSize + MutateEncoded(message.get(), data + kHeaderSize,
                                     size - kHeaderSize, max_size - kHeaderSize,
                                     seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const TypedInput input = ParseTypedInput(data, size);
  if (!input.test_case)
    return -1;
  const auto message = Types().NewMessage(input.test_case->full_name);
  std::string bytes;
  if (!Normalize(input.bytes, *message->GetDescriptor(),
                 input.test_case->extension_scope, 0, &bytes)) {
    return -1;
  }
  const std::string error =
      CompareReading(&Types(), *input.test_case, View(bytes));
  if (!error.empty()) {
    fprintf(stderr, "roundtrip_fuzzer: %s: %s\n", input.test_case->full_name,
            error.c_str());
    abort();
  }
  return 0;
}
