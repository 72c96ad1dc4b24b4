// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads and writes messages with libprotobuf, for run.py.
//
//   {"type": "...", "tree": {...}}  the answer is {"hex": "..."}
//   {"type": "...", "hex": "..."}   the answer is {"tree": {...}, "hex":
//   "..."},
//       where "hex" is the message that was read, written again

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "test/interop/groups.pb.h"
#include "test/interop/schema2.pb.h"
#include "test/interop/schema3.pb.h"
#include "test/interop/tree.h"

namespace protozero::test {
namespace {

namespace pb = google::protobuf;
using Type = pb::FieldDescriptor::CppType;

// Returns the value of element |i| of a repeated field, or of a singular field.
Json TreeOf(const pb::Message& message);

Json TreeOf(const pb::Message& message,
            const pb::FieldDescriptor* field,
            int i) {
  const pb::Reflection* reflection = message.GetReflection();
#define GET(type)                                                          \
  (field->is_repeated() ? reflection->GetRepeated##type(message, field, i) \
                        : reflection->Get##type(message, field))
  switch (field->cpp_type()) {
    case Type::CPPTYPE_INT32:
      return NumberTree(GET(Int32));
    case Type::CPPTYPE_INT64:
      return NumberTree(GET(Int64));
    case Type::CPPTYPE_UINT32:
      return NumberTree(GET(UInt32));
    case Type::CPPTYPE_UINT64:
      return NumberTree(GET(UInt64));
    case Type::CPPTYPE_DOUBLE:
      return NumberTree(GET(Double));
    case Type::CPPTYPE_FLOAT:
      return NumberTree(GET(Float));
    case Type::CPPTYPE_BOOL:
      return GET(Bool);
    case Type::CPPTYPE_ENUM:
      return NumberTree(GET(EnumValue));
    case Type::CPPTYPE_STRING:
      return field->type() == pb::FieldDescriptor::TYPE_BYTES
                 ? Json(Hexadecimal(GET(String)))
                 : Json(GET(String));
    case Type::CPPTYPE_MESSAGE:
      return TreeOf(GET(Message));
  }
#undef GET
  throw std::logic_error("no such type");
}

Json TreeOf(const pb::Message& message) {
  const pb::Reflection* reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  Json tree = Json::object();
  for (const pb::FieldDescriptor* field : fields) {
    Json& value = tree[std::to_string(field->number())];
    if (!field->is_repeated()) {
      value = TreeOf(message, field, 0);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      value.push_back(TreeOf(message, field, i));
  }
  return tree;
}

void Fill(const Json& tree, pb::Message* message);

// Sets the field, or adds to it.
void FillField(const Json& value,
               const pb::FieldDescriptor* field,
               pb::Message* message) {
  const pb::Reflection* reflection = message->GetReflection();
#define SET(type, ...)                                                       \
  (field->is_repeated() ? reflection->Add##type(message, field, __VA_ARGS__) \
                        : reflection->Set##type(message, field, __VA_ARGS__))
  switch (field->cpp_type()) {
    case Type::CPPTYPE_INT32:
      return SET(Int32, ParseNumber<int32_t>(value));
    case Type::CPPTYPE_INT64:
      return SET(Int64, ParseNumber<int64_t>(value));
    case Type::CPPTYPE_UINT32:
      return SET(UInt32, ParseNumber<uint32_t>(value));
    case Type::CPPTYPE_UINT64:
      return SET(UInt64, ParseNumber<uint64_t>(value));
    case Type::CPPTYPE_DOUBLE:
      return SET(Double, ParseNumber<double>(value));
    case Type::CPPTYPE_FLOAT:
      return SET(Float, ParseNumber<float>(value));
    case Type::CPPTYPE_BOOL:
      return SET(Bool, value.get<bool>());
    case Type::CPPTYPE_ENUM:
      return SET(EnumValue, ParseNumber<int32_t>(value));
    case Type::CPPTYPE_STRING:
      return SET(String, field->type() == pb::FieldDescriptor::TYPE_BYTES
                             ? FromHexadecimal(value)
                             : value.get<std::string>());
    case Type::CPPTYPE_MESSAGE:
      return Fill(value, field->is_repeated()
                             ? reflection->AddMessage(message, field)
                             : reflection->MutableMessage(message, field));
  }
#undef SET
}

void Fill(const Json& tree, pb::Message* message) {
  for (const auto& [number, value] : tree.items()) {
    const pb::FieldDescriptor* field =
        message->GetDescriptor()->FindFieldByNumber(std::stoi(number));
    if (!field->is_repeated()) {
      FillField(value, field, message);
      continue;
    }
    for (const Json& element : value)
      FillField(element, field, message);
  }
}

Json Answer(const Json& request) {
  const pb::Descriptor* type =
      pb::DescriptorPool::generated_pool()->FindMessageTypeByName(
          request["type"].get<std::string>());
  const std::unique_ptr<pb::Message> message(
      pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
  Json answer = Json::object();
  if (request.contains("tree")) {
    Fill(request["tree"], message.get());
  } else {
    if (!message->ParseFromString(FromHexadecimal(request["hex"])))
      throw std::runtime_error("ParseFromString() failed");
    answer["tree"] = TreeOf(*message);
  }
  answer["hex"] = Hexadecimal(message->SerializeAsString());
  return answer;
}

}  // namespace
}  // namespace protozero::test

int main() {
  // Without these references, the types would not register themselves.
  (void)interop::Scalars2::default_instance();
  (void)interop::Scalars3::default_instance();
  (void)interop::Groups2::default_instance();
  return protozero::test::Serve(protozero::test::Answer);
}
