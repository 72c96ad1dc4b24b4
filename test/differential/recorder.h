// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_DIFFERENTIAL_RECORDER_H_
#define TEST_DIFFERENTIAL_RECORDER_H_

#include <stddef.h>
#include <stdint.h>

#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "protozero/field.h"
#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

// The recorder that generated drivers use. They call the generated setters.

namespace protozero::test {

// A value that converts to the enum of any setter.
struct AnyEnum {
  template <typename Enum,
            typename = std::enable_if_t<std::is_enum<Enum>::value>>
  operator Enum() const {
    return static_cast<Enum>(number);
  }
  int32_t number;
};

// A recorder makes random values of one message, and sets each in a message of
// libprotobuf, too, which is the expectation.
//
//   message->set_size(recorder.Number<uint32_t>(3));
//
// The number says which field it is. Values returned by reference are valid
// until the next call.
class Recorder {
 public:
  // Shared by all recorders of one tree of messages.
  struct State {
    explicit State(uint64_t seed) : random(seed) {}

    std::mt19937_64 random;
    std::string string;
    std::vector<uint8_t> bytes;
  };

  // From |depth| levels below this one, messages stay empty. With
  // |every_field|, every field is written at least once.
  Recorder(google::protobuf::Message* expected,
           State* state,
           int depth,
           bool every_field);

  // Return the number of fields to write, and the field to write as the |i|th:
  // 0 to num_fields - 1.
  int Count(int num_fields);
  int Pick(int num_fields, int i);

  // Returns a value of a field whose C++ type is T: int32_t, int64_t, uint32_t,
  // uint64_t, float, double or bool.
  template <typename T>
  T Number(int field_number);
  AnyEnum Enum(int field_number);
  const std::string& String(int field_number);
  ConstChars Chars(int field_number);
  const std::vector<uint8_t>& Bytes(int field_number);
  // Returns a message as libprotobuf encodes it.
  const std::string& Raw(int field_number);

  // Returns the values of a packed field.
  template <typename T>
  std::vector<T> List(int field_number) {
    std::vector<T> values;
    for (size_t count = ListSize(); count > 0; --count)
      values.push_back(Number<T>(field_number));
    return values;
  }
  template <typename Packed, typename T>
  const Packed& PackedNumbers(int field_number, Packed&& packed = Packed()) {
    for (size_t count = ListSize(); count > 0; --count)
      packed.Append(Number<T>(field_number));
    return packed;
  }
  const PackedVarInt& PackedEnums(int field_number,
                                  PackedVarInt&& packed = PackedVarInt()) {
    for (size_t count = ListSize(); count > 0; --count)
      packed.Append(Enum(field_number).number);
    return packed;
  }

  std::vector<int32_t> ListOfEnums(int field_number) {
    std::vector<int32_t> values;
    for (size_t count = ListSize(); count > 0; --count)
      values.push_back(Enum(field_number).number);
    return values;
  }

  // Returns a recorder for a message in this one.
  Recorder Child(int field_number);

 private:
  const google::protobuf::FieldDescriptor* Field(int field_number) const;
  // Returns a random number of any magnitude.
  uint64_t RandomBits();
  std::string RandomText();
  size_t ListSize();
  google::protobuf::Message* NewChild(int field_number);
  void RecordString(int field_number, const std::string& value);
  void RecordScalars();

  google::protobuf::Message* const expected_;
  State* const state_;
  const int depth_;
  const bool every_field_;
};

}  // namespace protozero::test

#endif  // TEST_DIFFERENTIAL_RECORDER_H_
