// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/message_mutator.h"

#include <string.h>

#include <iterator>
#include <random>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace protozero::test {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Names for schemas. They are few, so that references between types occur.
constexpr const char* kWords[] = {
    "",       "a",      "b",       "A",       "B",       ".a",    ".A",
    ".a.A",   ".B.A",   "a.b",     "class",   "x_y",     "xY",    "_",
    "proto2", "proto3", "a.proto", "b.proto", "key",     "value", "AEntry",
    "int",    "size",   "data",    "std",     "1",       "-1",    "0x10",
    "inf",    "nan",    "true",    "\\001",   "XYEntry",
};

class Mutator {
 public:
  explicit Mutator(unsigned int seed) : random_(seed) {}

  bool OneIn(uint32_t n) { return random_() % n == 0; }

  void Mutate(Message* root) {
    messages_.clear();
    strings_.clear();
    Collect(root);
    Message* message = messages_[Pick(messages_.size())];
    std::vector<const FieldDescriptor*> fields;
    const auto& type = *message->GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i)
      fields.push_back(type.field(i));
    // The mutator can change extensions that are present, too.
    std::vector<const FieldDescriptor*> present;
    message->GetReflection()->ListFields(*message, &present);
    fields.insert(fields.end(), present.begin(), present.end());
    if (!fields.empty())
      MutateField(message, fields[Pick(fields.size())]);
  }

 private:
  size_t Pick(size_t count) { return random_() % count; }

  // Collects all messages of the tree and their strings.
  void Collect(Message* message) {
    messages_.push_back(message);
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count =
          field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated()
                      ? reflection->MutableRepeatedMessage(message, field, i)
                      : reflection->MutableMessage(message, field));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          strings_.push_back(
              field->is_repeated()
                  ? reflection->GetRepeatedString(*message, field, i)
                  : reflection->GetString(*message, field));
        }
      }
    }
  }

  void MutateField(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    if (!field->is_repeated()) {
      if (OneIn(3))
        reflection->ClearField(message, field);
      else
        SetRandom(message, field);
      return;
    }
    const int size = reflection->FieldSize(*message, field);
    switch (size == 0 ? 0 : Pick(5)) {
      case 0:
      case 1:
        AddRandom(message, field);
        break;
      case 2:
        reflection->RemoveLast(message, field);
        break;
      case 3:
        reflection->SwapElements(message, field, PickIndex(size),
                                 PickIndex(size));
        break;
      case 4:
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Message* copy = reflection->AddMessage(message, field);
          copy->CopyFrom(
              reflection->GetRepeatedMessage(*message, field, PickIndex(size)));
        } else {
          AddRandom(message, field);
        }
        break;
    }
  }

  int PickIndex(int size) {
    return static_cast<int>(Pick(static_cast<size_t>(size)));
  }

  uint64_t RandomBits() {
    switch (random_() % 4) {
      case 0:
        return random_() % 20;
      case 1:  // Around powers of two.
        return (uint64_t{1} << random_() % 64) - random_() % 2;
      case 2:
        return ~uint64_t{random_() % 20};
      default:
        return uint64_t{random_()} << 32 | random_();
    }
  }

  std::string RandomString() {
    if (!strings_.empty() && !OneIn(3)) {
      std::string string = strings_[Pick(strings_.size())];
      if (OneIn(4))
        string += kWords[Pick(std::size(kWords))];
      return string;
    }
    return kWords[Pick(std::size(kWords))];
  }

  template <typename T>
  static T FloatingPoint(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }

  int RandomEnum(const FieldDescriptor* field) {
    const auto& type = *field->enum_type();
    if (OneIn(16))
      return static_cast<int>(RandomBits());
    return type.value(PickIndex(type.value_count()))->number();
  }

  void SetRandom(Message* m, const FieldDescriptor* field) {
    const Reflection* r = m->GetReflection();
    const uint64_t bits = RandomBits();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r->SetInt32(m, field, static_cast<int32_t>(bits));
      case FieldDescriptor::CPPTYPE_INT64:
        return r->SetInt64(m, field, static_cast<int64_t>(bits));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r->SetUInt32(m, field, static_cast<uint32_t>(bits));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r->SetUInt64(m, field, bits);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r->SetDouble(m, field, FloatingPoint<double>(bits));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r->SetFloat(m, field, FloatingPoint<float>(bits));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r->SetBool(m, field, bits % 2 != 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->SetEnumValue(m, field, RandomEnum(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return r->SetString(m, field, RandomString());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r->MutableMessage(m, field);
        return;
    }
  }

  void AddRandom(Message* m, const FieldDescriptor* field) {
    const Reflection* r = m->GetReflection();
    const uint64_t bits = RandomBits();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r->AddInt32(m, field, static_cast<int32_t>(bits));
      case FieldDescriptor::CPPTYPE_INT64:
        return r->AddInt64(m, field, static_cast<int64_t>(bits));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r->AddUInt32(m, field, static_cast<uint32_t>(bits));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r->AddUInt64(m, field, bits);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r->AddDouble(m, field, FloatingPoint<double>(bits));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r->AddFloat(m, field, FloatingPoint<float>(bits));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r->AddBool(m, field, bits % 2 != 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->AddEnumValue(m, field, RandomEnum(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return r->AddString(m, field, RandomString());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        r->AddMessage(m, field);
        return;
    }
  }

  std::mt19937 random_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
};

}  // namespace

size_t MutateEncoded(Message* message,
                     uint8_t* data,
                     size_t size,
                     size_t max_size,
                     unsigned int seed) {
  Mutator mutator(seed);
  if (mutator.OneIn(4) ||
      !message->ParsePartialFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  do {
    mutator.Mutate(message);
  } while (!mutator.OneIn(3));
  std::string bytes;
  if (!message->SerializePartialToString(&bytes) || bytes.size() > max_size)
    return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace protozero::test
