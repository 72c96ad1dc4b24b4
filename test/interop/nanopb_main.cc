// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads and writes messages with nanopb, for run.py. libprotobuf_main.cc
// describes its input and output, line by line.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.pb.h>
#include <pb.h>
#include <pb_common.h>
#include <pb_decode.h>
#include <pb_encode.h>

#include "test/interop/nanopb_types.h"
#include "test/interop/tree.h"

namespace protozero::test {
namespace {

// All fields are pointers (see nanopb3.options): to a value, to an array of
// values, or, for repeated strings and bytes, to an array of pointers.

using FieldType = google::protobuf::FieldDescriptorProto;

const NanopbType& TypeOf(const pb_msgdesc_t* fields) {
  for (const auto& [name, type] : NanopbTypes()) {
    if (type.fields == fields)
      return type;
  }
  throw std::logic_error("nanopb has no such type");
}

template <typename T>
T Load(const void* memory) {
  T value;
  memcpy(&value, memory, sizeof(value));
  return value;
}

template <typename T>
void Store(void* memory, T value) {
  memcpy(memory, &value, sizeof(value));
}

void* Allocate(size_t count, size_t size) {
  void* const memory = calloc(count == 0 ? 1 : count, size);
  if (memory == nullptr)
    throw std::bad_alloc();
  return memory;
}

bool IsText(int type) {
  return type == FieldType::TYPE_STRING || type == FieldType::TYPE_BYTES;
}

pb_size_t& CountOf(const pb_field_iter_t& field) {
  return *static_cast<pb_size_t*>(field.pSize);
}

Json TreeOf(const NanopbType& type, void* message);

Json TreeOfValue(const pb_field_iter_t& field, int type, void* memory) {
  switch (type) {
    case FieldType::TYPE_DOUBLE:
      return NumberTree(Load<double>(memory));
    case FieldType::TYPE_FLOAT:
      return NumberTree(Load<float>(memory));
    case FieldType::TYPE_INT32:
    case FieldType::TYPE_SINT32:
    case FieldType::TYPE_SFIXED32:
    case FieldType::TYPE_ENUM:
      return NumberTree(Load<int32_t>(memory));
    case FieldType::TYPE_INT64:
    case FieldType::TYPE_SINT64:
    case FieldType::TYPE_SFIXED64:
      return NumberTree(Load<int64_t>(memory));
    case FieldType::TYPE_UINT32:
    case FieldType::TYPE_FIXED32:
      return NumberTree(Load<uint32_t>(memory));
    case FieldType::TYPE_UINT64:
    case FieldType::TYPE_FIXED64:
      return NumberTree(Load<uint64_t>(memory));
    case FieldType::TYPE_BOOL:
      return Load<bool>(memory);
    case FieldType::TYPE_STRING:
      return static_cast<const char*>(memory);
    case FieldType::TYPE_BYTES: {
      const auto* bytes = static_cast<const pb_bytes_array_t*>(memory);
      return Hexadecimal(std::string_view(
          reinterpret_cast<const char*>(bytes->bytes), bytes->size));
    }
    case FieldType::TYPE_MESSAGE:
      return TreeOf(TypeOf(field.submsg_desc), memory);
  }
  throw std::logic_error("no such type");
}

Json TreeOf(const NanopbType& type, void* message) {
  Json tree = Json::object();
  pb_field_iter_t field;
  if (!pb_field_iter_begin(&field, type.fields, message))
    return tree;
  do {
    const auto kind = PB_HTYPE(field.type);
    if (field.pData == nullptr ||
        (kind == PB_HTYPE_ONEOF && CountOf(field) != field.tag)) {
      continue;
    }
    const int field_type = type.field_types.at(field.tag);
    Json& value = tree[std::to_string(field.tag)];
    if (kind != PB_HTYPE_REPEATED) {
      value = TreeOfValue(field, field_type, field.pData);
      continue;
    }
    for (pb_size_t i = 0; i < CountOf(field); ++i) {
      char* element = static_cast<char*>(field.pData) + i * field.data_size;
      value.push_back(
          TreeOfValue(field, field_type,
                      IsText(field_type) ? Load<char*>(element) : element));
    }
  } while (pb_field_iter_next(&field));
  return tree;
}

void Fill(const NanopbType& type, const Json& tree, void* message);

// Makes a string or bytes, whose sizes differ.
void* MakeText(int type, const Json& value) {
  if (type == FieldType::TYPE_STRING) {
    const std::string text = value.get<std::string>();
    return memcpy(Allocate(1, text.size() + 1), text.c_str(), text.size() + 1);
  }
  const std::string bytes = FromHexadecimal(value);
  auto* array = static_cast<pb_bytes_array_t*>(
      Allocate(1, PB_BYTES_ARRAY_T_ALLOCSIZE(bytes.size())));
  array->size = static_cast<pb_size_t>(bytes.size());
  memcpy(array->bytes, bytes.data(), bytes.size());
  return array;
}

void FillValue(const pb_field_iter_t& field,
               int type,
               const Json& value,
               void* memory) {
  switch (type) {
    case FieldType::TYPE_DOUBLE:
      return Store(memory, ParseNumber<double>(value));
    case FieldType::TYPE_FLOAT:
      return Store(memory, ParseNumber<float>(value));
    case FieldType::TYPE_INT32:
    case FieldType::TYPE_SINT32:
    case FieldType::TYPE_SFIXED32:
    case FieldType::TYPE_ENUM:
      return Store(memory, ParseNumber<int32_t>(value));
    case FieldType::TYPE_INT64:
    case FieldType::TYPE_SINT64:
    case FieldType::TYPE_SFIXED64:
      return Store(memory, ParseNumber<int64_t>(value));
    case FieldType::TYPE_UINT32:
    case FieldType::TYPE_FIXED32:
      return Store(memory, ParseNumber<uint32_t>(value));
    case FieldType::TYPE_UINT64:
    case FieldType::TYPE_FIXED64:
      return Store(memory, ParseNumber<uint64_t>(value));
    case FieldType::TYPE_BOOL:
      return Store(memory, value.get<bool>());
    case FieldType::TYPE_MESSAGE:
      return Fill(TypeOf(field.submsg_desc), value, memory);
  }
  throw std::logic_error("no such type");
}

void Fill(const NanopbType& type, const Json& tree, void* message) {
  for (const auto& [number, value] : tree.items()) {
    pb_field_iter_t field;
    if (!pb_field_iter_begin(&field, type.fields, message) ||
        !pb_field_iter_find(&field, static_cast<uint32_t>(std::stoul(number))))
      throw std::runtime_error("no field " + number);
    const int field_type = type.field_types.at(field.tag);
    if (PB_HTYPE(field.type) == PB_HTYPE_REPEATED) {
      auto* array = static_cast<char*>(Allocate(value.size(), field.data_size));
      Store(field.pField, array);
      CountOf(field) = static_cast<pb_size_t>(value.size());
      for (const Json& element : value) {
        if (IsText(field_type)) {
          Store(array, MakeText(field_type, element));
        } else {
          FillValue(field, field_type, element, array);
        }
        array += field.data_size;
      }
      continue;
    }
    if (PB_HTYPE(field.type) == PB_HTYPE_ONEOF)
      CountOf(field) = field.tag;
    if (IsText(field_type)) {
      Store(field.pField, MakeText(field_type, value));
    } else {
      void* const memory = Allocate(1, field.data_size);
      Store(field.pField, memory);
      FillValue(field, field_type, value, memory);
    }
  }
}

std::string Encode(const NanopbType& type, const void* message) {
  size_t size;
  if (!pb_get_encoded_size(&size, type.fields, message))
    throw std::runtime_error("pb_get_encoded_size() failed");
  std::vector<pb_byte_t> buffer(size + 1);
  pb_ostream_t stream = pb_ostream_from_buffer(buffer.data(), size);
  if (!pb_encode(&stream, type.fields, message))
    throw std::runtime_error(PB_GET_ERROR(&stream));
  return std::string(reinterpret_cast<const char*>(buffer.data()), size);
}

Json Answer(const Json& request) {
  const NanopbType& type = NanopbTypes().at(request["type"].get<std::string>());
  const auto release = [&](void* memory) {
    pb_release(type.fields, memory);
    free(memory);
  };
  const std::unique_ptr<void, decltype(release)> message(Allocate(1, type.size),
                                                         release);
  Json answer = Json::object();
  if (request.contains("tree")) {
    Fill(type, request["tree"], message.get());
  } else {
    const std::string bytes = FromHexadecimal(request["hex"]);
    pb_istream_t stream = pb_istream_from_buffer(
        reinterpret_cast<const pb_byte_t*>(bytes.data()), bytes.size());
    if (!pb_decode(&stream, type.fields, message.get()))
      throw std::runtime_error(PB_GET_ERROR(&stream));
    answer["tree"] = TreeOf(type, message.get());
  }
  answer["hex"] = Hexadecimal(Encode(type, message.get()));
  return answer;
}

}  // namespace
}  // namespace protozero::test

int main() {
  return protozero::test::Serve(protozero::test::Answer);
}
