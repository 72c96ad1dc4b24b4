// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_DIFFERENTIAL_READER_H_
#define TEST_DIFFERENTIAL_READER_H_

#include <stdint.h>

#include <list>
#include <string>
#include <vector>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

// The reader that generated drivers use. They call the generated getters.

namespace protozero::test {

// Returns a field or extension of a message by its number. Aborts if there is
// none.
const google::protobuf::FieldDescriptor* FindField(
    const google::protobuf::Message& message,
    int field_number);

// A reader makes a message of libprotobuf from the values that a decoder
// returns for one message. It should be the one that libprotobuf itself reads.
//
//   if (r.Value(3, d.has_size(), d.size()))
//     m->set_size(d.size());
//
// The number says which field it is.
class Reader {
 public:
  // Shared by all readers of one tree of messages.
  struct State {
    // True if any part is malformed.
    bool malformed = false;
    // Contradictions between getters, or to the schema.
    std::string errors;
    // Messages that were merged from several.
    std::list<std::string> merged;
  };

  // |result| may be null. Then all getters are called, but their values are
  // neither kept nor checked.
  Reader(google::protobuf::Message* result,
         ConstBytes bytes,
         State* state,
         int depth = 0);

  ConstBytes bytes() const { return bytes_; }

  // Returns true if the nesting is so deep that libprotobuf takes it as
  // malformed.
  bool IsTooDeep();

  // Takes a field that is not repeated. Returns |has|.
  template <typename T>
  bool Value(int field_number, bool has, T value) {
    if (result_) {
      if (has)
        Set(field_number, value);
      else
        CheckDefault(field_number, value);
    }
    return has;
  }
  template <typename E>
  bool Enum(int field_number, bool has, int32_t number, E value) {
    if (static_cast<int32_t>(value) != number)
      AddError(field_number, "enum getters differ");
    return Value(field_number, has, number);
  }

  // Takes one element of a repeated field.
  void Add(int field_number, int32_t value);
  void Add(int field_number, int64_t value);
  void Add(int field_number, uint32_t value);
  void Add(int field_number, uint64_t value);
  void Add(int field_number, float value);
  void Add(int field_number, double value);
  void Add(int field_number, bool value);
  void Add(int field_number, ConstChars value);
  void Add(int field_number, ConstBytes value);

  // Notes if the numbers of a repeated field are malformed.
  void Packed(bool malformed) { state_->malformed |= malformed; }

  // Returns no message or one, for a field that is not repeated. If the field
  // occurs more than once, all occurrences are merged by concatenation. |last|
  // is the decoder's result.
  std::vector<ConstBytes> Messages(int field_number, bool has, ConstBytes last);

  // Returns a reader for a message in this one.
  Reader Child(int field_number, ConstBytes bytes);

  // Takes the number of the set field of a oneof, or 0. REQUIRES: called after
  // all fields.
  void Oneof(const char* name, int32_t field_number);

  void Status(const ProtoDecoder& decoder);

 private:
  const google::protobuf::FieldDescriptor* Field(int field_number) const;
  void AddError(int field_number, const char* what);

  void Set(int field_number, int32_t value);
  void Set(int field_number, int64_t value);
  void Set(int field_number, uint32_t value);
  void Set(int field_number, uint64_t value);
  void Set(int field_number, float value);
  void Set(int field_number, double value);
  void Set(int field_number, bool value);
  void Set(int field_number, ConstChars value);
  void Set(int field_number, ConstBytes value);

  void CheckDefault(int field_number, int32_t value);
  void CheckDefault(int field_number, int64_t value);
  void CheckDefault(int field_number, uint32_t value);
  void CheckDefault(int field_number, uint64_t value);
  void CheckDefault(int field_number, float value);
  void CheckDefault(int field_number, double value);
  void CheckDefault(int field_number, bool value);
  void CheckDefault(int field_number, ConstChars value);
  void CheckDefault(int field_number, ConstBytes value);

  google::protobuf::Message* const result_;
  const ConstBytes bytes_;
  State* const state_;
  const int depth_;
};

}  // namespace protozero::test

#endif  // TEST_DIFFERENTIAL_READER_H_
