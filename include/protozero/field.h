// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_H_
#define INCLUDE_PROTOZERO_FIELD_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A field as it was read: its id, its wire type, and its number or the address
// of its bytes. Nothing is copied, so the decoded bytes must outlive it.
//
// The bytes may come from anybody, so a field may have another wire type than
// the schema promises. Every accessor works on every field. Accessors of
// numbers return 0 for bytes, and accessors of bytes return no bytes for
// numbers. A float is read from four bytes only, a double from eight only. A
// group of the schema (wire type kStartGroup) has bytes as well: its contents,
// without tags.
//
// `Field()` is invalid, like the field that ReadField() returns at the end.
// Without the parentheses it is not initialized, so that arrays of fields cost
// nothing.
class Field {
 public:
  // The largest id that protobuf knows.
  static constexpr uint32_t kMaxId = proto_utils::kMaxFieldId;

  // Returns false for "there is no such field". All accessors return 0 or
  // nothing then.
  bool valid() const { return tag_ != 0; }
  explicit operator bool() const { return valid(); }

  // Return the number of the field in its message, and its form on the wire.
  uint32_t id() const { return proto_utils::GetTagFieldId(tag_); }
  proto_utils::ProtoWireType type() const {
    return proto_utils::GetTagFieldType(tag_);
  }

  // Returns true for every number but 0.
  bool as_bool() const { return as_uint64() != 0; }
  // Cut off the upper bits of larger numbers, as all of protobuf does.
  uint32_t as_uint32() const { return static_cast<uint32_t>(as_uint64()); }
  int32_t as_int32() const { return static_cast<int32_t>(as_uint64()); }
  // Un-zigzag.
  int32_t as_sint32() const { return proto_utils::ZigZagDecode(as_uint32()); }
  int64_t as_sint64() const { return proto_utils::ZigZagDecode(as_uint64()); }
  // Return the number as it is on the wire.
  uint64_t as_uint64() const { return has_bytes() ? 0 : value_; }
  int64_t as_int64() const { return static_cast<int64_t>(as_uint64()); }
  // as_float() returns 0 unless the field has four bytes, as_double() unless it
  // has eight.
  float as_float() const {
    const uint32_t bits =
        type() == proto_utils::ProtoWireType::kFixed32 ? as_uint32() : 0;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  double as_double() const {
    const uint64_t bits =
        type() == proto_utils::ProtoWireType::kFixed64 ? as_uint64() : 0;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  // Return views of the field's bytes; as_std_string() copies, and allocates.
  ConstChars as_string() const {
    return {reinterpret_cast<const char*>(data()), size()};
  }
  std::string as_std_string() const { return as_string().ToStdString(); }
  ConstBytes as_bytes() const { return {data(), size()}; }

  // Return the address and size of the bytes; null and 0 for numbers.
  const uint8_t* data() const {
    return has_bytes() ? reinterpret_cast<const uint8_t*>(
                             static_cast<uintptr_t>(value_))
                       : nullptr;
  }
  size_t size() const { return size_; }

  // raw_int_value() returns the number, or the address of the bytes.
  uint64_t raw_int_value() const { return value_; }
  uint32_t raw_size() const { return size_; }

  // Generic code uses get(): it calls as_...() by the type of the argument.
  void get(bool* value) const { *value = as_bool(); }
  void get(uint32_t* value) const { *value = as_uint32(); }
  void get(int32_t* value) const { *value = as_int32(); }
  void get(uint64_t* value) const { *value = as_uint64(); }
  void get(int64_t* value) const { *value = as_int64(); }
  void get(float* value) const { *value = as_float(); }
  void get(double* value) const { *value = as_double(); }
  void get(std::string* value) const { *value = as_std_string(); }
  void get(std::string_view* value) const {
    *value = as_string().ToStdStringView();
  }
  void get(ConstChars* value) const { *value = as_string(); }
  void get(ConstBytes* value) const { *value = as_bytes(); }
  void get(Field* value) const { *value = *this; }
  template <typename T, typename = std::enable_if_t<std::is_enum<T>::value>>
  void get(T* value) const {
    *value = static_cast<T>(as_int32());
  }
  // Un-zigzag.
  void get_signed(int32_t* value) const { *value = as_sint32(); }
  void get_signed(int64_t* value) const { *value = as_sint64(); }

  // Sets all of the field. REQUIRES: 0 < id <= kMaxId; |int_value| is the
  // address of |size| bytes for kLengthDelimited and kStartGroup, and |size| is
  // 0 for the others.
  void initialize(uint32_t id,
                  proto_utils::ProtoWireType type,
                  uint64_t int_value,
                  uint32_t size) {
    initialize_with_tag(proto_utils::MakeTag(id, type), int_value, size);
  }
  // The same with the number of a wire type.
  void initialize(uint32_t id,
                  uint8_t type,
                  uint64_t int_value,
                  uint32_t size) {
    initialize(id, static_cast<proto_utils::ProtoWireType>(type), int_value,
               size);
  }
  // The same with a tag, as it is on the wire.
  void initialize_with_tag(uint32_t tag, uint64_t int_value, uint32_t size) {
    value_ = int_value;
    size_ = size;
    tag_ = tag;
  }

  // Appends the field as it would be on the wire, its varints with as few bytes
  // as possible. Appends nothing for an invalid field. Allocates the memory
  // that |dst| needs.
  PROTOZERO_EXPORT void SerializeAndAppendTo(std::string* dst) const;
  PROTOZERO_EXPORT void SerializeAndAppendTo(std::vector<uint8_t>* dst) const;

 private:
  // Returns true for kLengthDelimited and kStartGroup. No other field has this
  // bit: kEndGroup is no field.
  bool has_bytes() const { return (tag_ & 2) != 0; }

  template <typename Container>
  void AppendTo(Container* dst) const;

  uint64_t value_;
  uint32_t size_;
  uint32_t tag_;  // The tag on the wire: id << 3 | wire type. 0 if invalid.
};

static_assert(sizeof(Field) == 16, "two registers");

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_FIELD_H_
