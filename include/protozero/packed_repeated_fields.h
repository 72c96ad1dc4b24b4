// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_
#define INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/byte_order.h"
#include "protozero/compiler.h"
#include "protozero/varint.h"

namespace protozero {

// Collects the elements of a packed repeated field, whose size precedes them
// on the wire; the generated setter copies the result into the message:
//
//   protozero::PackedVarInt samples;
//   for (uint32_t sample : window)
//     samples.Append(sample);
//   event->set_samples(samples);
//
// The first kOnStackStorageSize bytes live in the object itself, which is
// meant to be on the stack; more than that moves to the heap. One thread at a
// time.
class PackedBufferBase {
 public:
  static constexpr size_t kOnStackStorageSize = 8192;

  PackedBufferBase() { Reset(); }
  ~PackedBufferBase();

  // The cursor points into the object.
  PackedBufferBase(const PackedBufferBase&) = delete;
  PackedBufferBase& operator=(const PackedBufferBase&) = delete;

  // Empties the buffer. Heap memory is kept for reuse.
  void Reset() {
    write_ptr_ = storage();
    ok_ = true;
  }

  const uint8_t* data() const { return storage(); }
  size_t size() const { return static_cast<size_t>(write_ptr_ - storage()); }

  // False if memory ran out since the last Reset(). Elements are missing then.
  bool ok() const { return ok_; }

 protected:
  // Makes room for |size| <= kOnStackStorageSize more bytes. Returns false,
  // and changes nothing, if that takes memory that there is not.
  bool Reserve(size_t size) {
    return PROTOZERO_LIKELY(size <= capacity_ - this->size()) || Grow();
  }

  uint8_t* write_ptr_;

 private:
  uint8_t* storage() { return heap_ ? heap_ : on_stack_; }
  const uint8_t* storage() const { return heap_ ? heap_ : on_stack_; }
  PROTOZERO_COLD bool Grow();

  uint8_t* heap_ = nullptr;
  size_t capacity_ = kOnStackStorageSize;
  bool ok_ = true;
  uint8_t on_stack_[kOnStackStorageSize];
};

// Packed int32, int64, uint32, uint64, bool and enum fields.
class PackedVarInt : public PackedBufferBase {
 public:
  template <typename T>
  void Append(T value) {
    if (PROTOZERO_LIKELY(Reserve(proto_utils::kMaxVarIntEncodedSize))) {
      write_ptr_ = proto_utils::internal::WriteVarIntUnsafe(
          proto_utils::ExtendValueForVarIntSerialization(value), write_ptr_);
    }
  }
};

// Packed sint32 and sint64 fields.
class PackedSignedVarInt : public PackedBufferBase {
 public:
  template <typename T>
  void Append(T value) {
    if (PROTOZERO_LIKELY(Reserve(proto_utils::kMaxVarIntEncodedSize))) {
      write_ptr_ = proto_utils::internal::WriteVarIntUnsafe(
          proto_utils::ZigZagEncode(value), write_ptr_);
    }
  }
};

// Packed fixed32, fixed64, sfixed32, sfixed64, float and double fields: T is
// uint32_t, uint64_t, int32_t, int64_t, float and double, in this order.
template <typename T>
class PackedFixedSizeInt : public PackedBufferBase {
 public:
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
  static_assert(std::is_arithmetic<T>::value, "fixed fields hold numbers");

  void Append(T value) {
    if (PROTOZERO_UNLIKELY(!Reserve(sizeof(T))))
      return;
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
    memcpy(&bits, &value, sizeof(bits));
    internal::StoreLittleEndian(write_ptr_, bits);
    write_ptr_ += sizeof(T);
  }
};

}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_
