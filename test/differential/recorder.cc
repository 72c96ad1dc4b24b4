// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/differential/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iterator>
#include <memory>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "test/differential/reader.h"

namespace protozero::test {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using ProtobufMessage = google::protobuf::Message;

// Returns the functions of reflection for numbers of type T: of singular and of
// repeated fields.
template <typename T>
constexpr auto SetAndAdd() {
  if constexpr (std::is_same<T, int32_t>::value)
    return std::pair(&Reflection::SetInt32, &Reflection::AddInt32);
  else if constexpr (std::is_same<T, int64_t>::value)
    return std::pair(&Reflection::SetInt64, &Reflection::AddInt64);
  else if constexpr (std::is_same<T, uint32_t>::value)
    return std::pair(&Reflection::SetUInt32, &Reflection::AddUInt32);
  else if constexpr (std::is_same<T, uint64_t>::value)
    return std::pair(&Reflection::SetUInt64, &Reflection::AddUInt64);
  else if constexpr (std::is_same<T, float>::value)
    return std::pair(&Reflection::SetFloat, &Reflection::AddFloat);
  else if constexpr (std::is_same<T, double>::value)
    return std::pair(&Reflection::SetDouble, &Reflection::AddDouble);
  else
    return std::pair(&Reflection::SetBool, &Reflection::AddBool);
}

}  // namespace

Recorder::Recorder(ProtobufMessage* expected,
                   State* state,
                   int depth,
                   bool every_field)
    : expected_(expected),
      state_(state),
      depth_(depth),
      every_field_(every_field) {}

int Recorder::Count(int num_fields) {
  if (depth_ == 0 || num_fields == 0)
    return 0;
  const int count = static_cast<int>(state_->random() %
                                     (static_cast<uint64_t>(num_fields) + 3));
  return every_field_ ? num_fields + count : count;
}

int Recorder::Pick(int num_fields, int i) {
  if (every_field_ && i < num_fields)
    return i;
  return static_cast<int>(state_->random() % static_cast<uint64_t>(num_fields));
}

const FieldDescriptor* Recorder::Field(int field_number) const {
  return FindField(*expected_, field_number);
}

uint64_t Recorder::RandomBits() {
  const uint64_t bits = state_->random() >> state_->random() % 64;
  return state_->random() % 4 == 0 ? ~bits : bits;
}

size_t Recorder::ListSize() {
  const uint64_t kSizes[] = {0, 1, 2, 5, 40, 2000};
  const uint64_t size =
      kSizes[state_->random() % 32 == 0 ? 5 : state_->random() % 5];
  return static_cast<size_t>(state_->random() % (size + 1));
}

template <typename T>
T Recorder::Number(int field_number) {
  const uint64_t bits = RandomBits();
  T value;
  if constexpr (std::is_same<T, bool>::value) {
    value = bits % 2 != 0;
  } else if constexpr (std::is_floating_point<T>::value) {
    // Any bits are allowed: NaNs and denormals, too. Half are ordinary numbers.
    if (state_->random() % 2)
      value = static_cast<T>(static_cast<int64_t>(bits)) / T{8};
    else
      memcpy(&value, &bits, sizeof(value));
  } else {
    value = static_cast<T>(bits);
  }
  const FieldDescriptor* field = Field(field_number);
  const auto [set, add] = SetAndAdd<T>();
  (expected_->GetReflection()->*(field->is_repeated() ? add : set))(
      expected_, field, value);
  return value;
}

template bool Recorder::Number<bool>(int);
template int32_t Recorder::Number<int32_t>(int);
template int64_t Recorder::Number<int64_t>(int);
template uint32_t Recorder::Number<uint32_t>(int);
template uint64_t Recorder::Number<uint64_t>(int);
template float Recorder::Number<float>(int);
template double Recorder::Number<double>(int);

AnyEnum Recorder::Enum(int field_number) {
  const FieldDescriptor* field = Field(field_number);
  const Reflection* reflection = expected_->GetReflection();
  const google::protobuf::EnumDescriptor& type = *field->enum_type();
  int number =
      type.value(static_cast<int>(state_->random() %
                                  static_cast<uint64_t>(type.value_count())))
          ->number();
  const auto is_proto3 = [](const google::protobuf::FileDescriptor* file) {
    return file->syntax() == google::protobuf::FileDescriptor::SYNTAX_PROTO3;
  };
  // Enums of proto3 are open, so any number is a value.
  if (is_proto3(field->file()) && is_proto3(type.file()) &&
      state_->random() % 4 == 0) {
    number = static_cast<int>(RandomBits());
  }
  field->is_repeated() ? reflection->AddEnumValue(expected_, field, number)
                       : reflection->SetEnumValue(expected_, field, number);
  return AnyEnum{number};
}

std::string Recorder::RandomText() {
  // The characters have one to four bytes each, because strings must be valid
  // UTF-8.
  static constexpr const char* kCharacters[] = {"a",
                                                "B",
                                                "7",
                                                " ",
                                                "\n",
                                                "\"",
                                                "\xc3\xa9",
                                                "\xe2\x82\xac",
                                                "\xf0\x9f\x98\x80"};
  std::string text;
  for (size_t count = ListSize(); count > 0; --count)
    text += kCharacters[state_->random() % std::size(kCharacters)];
  return text;
}

void Recorder::RecordString(int field_number, const std::string& value) {
  const FieldDescriptor* field = Field(field_number);
  const Reflection* reflection = expected_->GetReflection();
  field->is_repeated() ? reflection->AddString(expected_, field, value)
                       : reflection->SetString(expected_, field, value);
}

const std::string& Recorder::String(int field_number) {
  state_->string = RandomText();
  RecordString(field_number, state_->string);
  return state_->string;
}

ConstChars Recorder::Chars(int field_number) {
  const std::string& string = String(field_number);
  return {string.data(), string.size()};
}

const std::vector<uint8_t>& Recorder::Bytes(int field_number) {
  state_->bytes.clear();
  for (size_t count = ListSize(); count > 0; --count)
    state_->bytes.push_back(static_cast<uint8_t>(state_->random()));
  RecordString(field_number,
               std::string(state_->bytes.begin(), state_->bytes.end()));
  return state_->bytes;
}

ProtobufMessage* Recorder::NewChild(int field_number) {
  const FieldDescriptor* field = Field(field_number);
  const Reflection* reflection = expected_->GetReflection();
  // Writing a message twice merges the two, and so does filling one twice.
  return field->is_repeated() ? reflection->AddMessage(expected_, field)
                              : reflection->MutableMessage(expected_, field);
}

Recorder Recorder::Child(int field_number) {
  return Recorder(NewChild(field_number), state_, depth_ > 0 ? depth_ - 1 : 0,
                  every_field_);
}

const std::string& Recorder::Raw(int field_number) {
  ProtobufMessage* child = NewChild(field_number);
  const std::unique_ptr<ProtobufMessage> added(child->New());
  Recorder(added.get(), state_, 0, false).RecordScalars();
  child->MergeFrom(*added);
  state_->string = added->SerializePartialAsString();
  return state_->string;
}

void Recorder::RecordScalars() {
  const google::protobuf::Descriptor& type = *expected_->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const int number = type.field(i)->number();
    switch (type.field(i)->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        Number<int32_t>(number);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        Number<uint64_t>(number);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        String(number);
        break;
      default:  // These types are enough.
        break;
    }
  }
}

}  // namespace protozero::test
