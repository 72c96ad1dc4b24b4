// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/differential/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace protozero::test {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

// libprotobuf's default.
constexpr int kMaxDepth = 100;

// Compares bits, so -0 differs from 0, and one NaN from another.
template <typename T>
bool IsSame(T a, T b) {
  return memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace

const FieldDescriptor* FindField(const google::protobuf::Message& message,
                                 int field_number) {
  const auto& type = *message.GetDescriptor();
  const FieldDescriptor* field = type.FindFieldByNumber(field_number);
  if (field == nullptr)
    field = type.file()->pool()->FindExtensionByNumber(&type, field_number);
  if (field == nullptr) {
    fprintf(stderr, "%s has no field %d\n", type.full_name().c_str(),
            field_number);
    abort();
  }
  return field;
}

Reader::Reader(google::protobuf::Message* result,
               ConstBytes bytes,
               State* state,
               int depth)
    : result_(result), bytes_(bytes), state_(state), depth_(depth) {}

bool Reader::IsTooDeep() {
  if (depth_ <= kMaxDepth)
    return false;
  state_->malformed = true;
  return true;
}

const FieldDescriptor* Reader::Field(int field_number) const {
  return FindField(*result_, field_number);
}

void Reader::AddError(int field_number, const char* what) {
  state_->errors +=
      "field " + std::to_string(field_number) + ": " + what + '\n';
}

void Reader::Set(int field_number, int32_t value) {
  const FieldDescriptor* field = Field(field_number);
  const Reflection* reflection = result_->GetReflection();
  field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM
      ? reflection->SetEnumValue(result_, field, value)
      : reflection->SetInt32(result_, field, value);
}

void Reader::Add(int field_number, int32_t value) {
  if (!result_)
    return;
  const FieldDescriptor* field = Field(field_number);
  const Reflection* reflection = result_->GetReflection();
  field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM
      ? reflection->AddEnumValue(result_, field, value)
      : reflection->AddInt32(result_, field, value);
}

void Reader::CheckDefault(int field_number, int32_t value) {
  const FieldDescriptor* field = Field(field_number);
  const int32_t expected = field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM
                               ? field->default_value_enum()->number()
                               : field->default_value_int32();
  if (value != expected)
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, int64_t value) {
  result_->GetReflection()->SetInt64(result_, Field(field_number), value);
}

void Reader::Add(int field_number, int64_t value) {
  if (result_)
    result_->GetReflection()->AddInt64(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, int64_t value) {
  if (!IsSame<int64_t>(Field(field_number)->default_value_int64(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, uint32_t value) {
  result_->GetReflection()->SetUInt32(result_, Field(field_number), value);
}

void Reader::Add(int field_number, uint32_t value) {
  if (result_)
    result_->GetReflection()->AddUInt32(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, uint32_t value) {
  if (!IsSame(Field(field_number)->default_value_uint32(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, uint64_t value) {
  result_->GetReflection()->SetUInt64(result_, Field(field_number), value);
}

void Reader::Add(int field_number, uint64_t value) {
  if (result_)
    result_->GetReflection()->AddUInt64(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, uint64_t value) {
  if (!IsSame<uint64_t>(Field(field_number)->default_value_uint64(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, float value) {
  result_->GetReflection()->SetFloat(result_, Field(field_number), value);
}

void Reader::Add(int field_number, float value) {
  if (result_)
    result_->GetReflection()->AddFloat(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, float value) {
  if (!IsSame(Field(field_number)->default_value_float(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, double value) {
  result_->GetReflection()->SetDouble(result_, Field(field_number), value);
}

void Reader::Add(int field_number, double value) {
  if (result_)
    result_->GetReflection()->AddDouble(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, double value) {
  if (!IsSame(Field(field_number)->default_value_double(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, bool value) {
  result_->GetReflection()->SetBool(result_, Field(field_number), value);
}

void Reader::Add(int field_number, bool value) {
  if (result_)
    result_->GetReflection()->AddBool(result_, Field(field_number), value);
}

void Reader::CheckDefault(int field_number, bool value) {
  if (!IsSame(Field(field_number)->default_value_bool(), value))
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, ConstChars value) {
  result_->GetReflection()->SetString(result_, Field(field_number),
                                      value.ToStdString());
}

void Reader::Add(int field_number, ConstChars value) {
  if (result_) {
    result_->GetReflection()->AddString(result_, Field(field_number),
                                        value.ToStdString());
  }
}

void Reader::CheckDefault(int field_number, ConstChars value) {
  if (Field(field_number)->default_value_string() != value.ToStdString())
    AddError(field_number, "not the default value");
}

void Reader::Set(int field_number, ConstBytes value) {
  result_->GetReflection()->SetString(result_, Field(field_number),
                                      value.ToStdString());
}

void Reader::Add(int field_number, ConstBytes value) {
  if (result_) {
    result_->GetReflection()->AddString(result_, Field(field_number),
                                        value.ToStdString());
  }
}

void Reader::CheckDefault(int field_number, ConstBytes value) {
  if (Field(field_number)->default_value_string() != value.ToStdString())
    AddError(field_number, "not the default value");
}

std::vector<ConstBytes> Reader::Messages(int field_number,
                                         bool has,
                                         ConstBytes last) {
  if (!result_)
    return has ? std::vector<ConstBytes>{last} : std::vector<ConstBytes>();
  const FieldDescriptor* field = Field(field_number);
  const auto* oneof = field->containing_oneof();
  std::vector<ConstBytes> messages;
  ProtoDecoder decoder(bytes_);
  for (protozero::Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
    const auto id = static_cast<int>(f.id());
    if (id == field_number) {
      messages.push_back(f.as_bytes());
      continue;
    }
    const auto* other = result_->GetDescriptor()->FindFieldByNumber(id);
    // Another member of the oneof replaces the message.
    if (oneof != nullptr && other != nullptr &&
        other->containing_oneof() == oneof) {
      messages.clear();
    }
  }
  if (has == messages.empty()) {
    AddError(field_number, "has_...() is wrong");
  } else if (has && (last.data != messages.back().data ||
                     last.size != messages.back().size)) {
    AddError(field_number, "not the last one");
  } else if (!has && last.size != 0) {
    AddError(field_number, "bytes of an absent message");
  }
  if (messages.size() < 2)
    return messages;

  std::string& all = state_->merged.emplace_back();
  for (const ConstBytes bytes : messages) {
    ProtoDecoder part(bytes);
    while (part.ReadField()) {
    }
    Status(part);
    all += bytes.ToStdString();
  }
  return {ConstBytes(reinterpret_cast<const uint8_t*>(all.data()), all.size())};
}

Reader Reader::Child(int field_number, ConstBytes bytes) {
  google::protobuf::Message* child = nullptr;
  if (result_) {
    const FieldDescriptor* field = Field(field_number);
    const Reflection* reflection = result_->GetReflection();
    child = field->is_repeated() ? reflection->AddMessage(result_, field)
                                 : reflection->MutableMessage(result_, field);
  }
  return Reader(child, bytes, state_, depth_ + 1);
}

void Reader::Oneof(const char* name, int32_t field_number) {
  if (!result_)
    return;
  // Does not use |result_|, because this message may be merged into an earlier
  // one.
  const auto& type = *result_->GetDescriptor();
  const auto* oneof = type.FindOneofByName(name);
  int32_t last = 0;
  ProtoDecoder decoder(bytes_);
  for (protozero::Field f = decoder.ReadField(); f; f = decoder.ReadField()) {
    const auto* field = type.FindFieldByNumber(static_cast<int>(f.id()));
    if (field != nullptr && field->containing_oneof() == oneof)
      last = field->number();
  }
  if (field_number != last)
    AddError(field_number, "not the case of its oneof");
}

void Reader::Status(const ProtoDecoder& decoder) {
  const bool malformed = decoder.status() != DecodeStatus::kOk;
  if (malformed && decoder.begin() + decoder.error_offset() >= decoder.end())
    AddError(0, "the error is beyond the end");
  state_->malformed |= malformed;
}

}  // namespace protozero::test
