// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_
#define INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/varint.h"
#include "protozero/message.h"

#include "protozero/internal/macros.h"

// Packed repeated fields: all elements in one field, without tags of their own,
// after their size in bytes:
//
//   | tag | size | element | element | ...
//
// The generated setter writes elements that are already in an array:
//
//   event->set_samples(array, count);
//
// A buffer first collects elements that are computed one by one, because their
// size goes before them:
//
//   protozero::PackedVarInt samples;
//   for (const Window& window : windows)
//     samples.Append(window.sum());
//   event->set_samples(samples);

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

// The encodings of elements. Write() encodes elements of type T to |dst|, and
// returns the end of the encoded bytes. It may overwrite all of the count *
// kMaxSize<T> bytes there. REQUIRES: they are writable.

// Varints. EncodingOfBits turns each element into the integer that becomes the
// varint.
template <typename EncodingOfBits>
struct PackedVarIntEncoding {
  template <typename T>
  static constexpr size_t kMaxSize = proto_utils::kMaxVarIntEncodedSize;
  // A bool is the byte that encodes it.
  template <typename T>
  static constexpr bool kIsCopy = std::is_same_v<T, bool> && sizeof(T) == 1;

  template <typename T>
  static uint8_t* Write(const T* values, size_t count, uint8_t* dst) {
    using namespace proto_utils::internal;
    // One test for all elements. Compilers drop it where they know the mask.
    if (PROTOZERO_UNLIKELY(kInlineEncodingMask == 0))
      return WritePortably(values, count, dst);
    for (size_t i = 0; i < count; ++i)
      dst = WriteVarIntInline(EncodingOfBits::ToBits(values[i]), dst);
    return dst;
  }

  // Write() without the instructions of bit_deposit.h.
  template <typename T>
  PROTOZERO_NOINLINE static uint8_t* WritePortably(const T* values,
                                                   size_t count,
                                                   uint8_t* dst) {
    for (size_t i = 0; i < count; ++i) {
      dst = proto_utils::internal::WriteVarIntUnsafe(
          EncodingOfBits::ToBits(values[i]), dst);
    }
    return dst;
  }
};

struct PlainBits {
  template <typename T>
  static uint64_t ToBits(T value) {
    return proto_utils::ExtendValueForVarIntSerialization(value);
  }
};

struct ZigZagBits {
  template <typename T>
  static uint64_t ToBits(T value) {
    return proto_utils::ZigZagEncode(value);
  }
};

struct PackedFixedEncoding {
  template <typename T>
  static constexpr size_t kMaxSize = sizeof(T);
  template <typename T>
  static constexpr bool kIsCopy = kCopyIsLittleEndian;

  template <typename T>
  static uint8_t* Write(const T* values, size_t count, uint8_t* dst) {
    for (size_t i = 0; i < count; ++i) {
      std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
      memcpy(&bits, &values[i], sizeof(bits));
      StoreLittleEndian(dst, bits);
      dst += sizeof(T);
    }
    return dst;
  }
};

}  // namespace internal

// A buffer that collects elements. The first kOnStackStorageSize bytes live in
// the object itself, which is meant to be on the stack; longer content moves to
// the heap. The constructor touches none of these bytes. One thread at a time
// may use it.
class PROTOZERO_EXPORT PackedBufferBase {
 public:
  // The number of bytes that fit before the heap is used.
  static constexpr size_t kOnStackStorageSize = 8192;

  // Makes an empty buffer. The destructor gives heap memory back.
  PackedBufferBase() { SetStorage(kOnStackStorageSize); }
  ~PackedBufferBase();

  // Not copyable: the cursor points into the object.
  PackedBufferBase(const PackedBufferBase&) = delete;
  PackedBufferBase& operator=(const PackedBufferBase&) = delete;

  // Empties the buffer. Heap memory is kept for reuse.
  void Reset() {
    write_ptr_ = storage();
    ok_ = true;
  }

  // Return the encoded elements. The next Append() invalidates them.
  const uint8_t* data() const { return storage(); }
  size_t size() const { return static_cast<size_t>(write_ptr_ - storage()); }

  // Returns false if memory ran out since the last Reset(). Elements are
  // missing then.
  bool ok() const { return ok_; }

 protected:
  // Makes room for |size| <= kOnStackStorageSize more bytes. Returns false, and
  // changes nothing, if there is not enough memory.
  bool Reserve(size_t size) {
    return PROTOZERO_LIKELY(size <= room()) || Grow();
  }

  // Works like Message::AppendVarInt().
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void AppendVarInt(uint64_t bits) {
    using namespace proto_utils::internal;
    uint8_t* const pos = write_ptr_;
    const VarIntMasks masks = LoadVarIntMasks();
    // The compiler drops the last test for types that cannot be as large.
    if (PROTOZERO_UNLIKELY(!PROTOZERO_INLINE_SETTERS ||
                           reinterpret_cast<uintptr_t>(pos) >= fast_limit_ ||
                           MayBeLongVarInt<T>(bits, masks))) {
      write_ptr_ = internal::OpaqueAfter(masks, pos);
      return AppendVarIntSlowPath(bits);
    }
    write_ptr_ = WriteVarInt56Inline<0>(bits, pos, masks);
  }

  template <typename Encoding, typename T>
  void AppendArray(const T* values, size_t count) {
    constexpr bool kIsCopy = Encoding::template kIsCopy<T>;
    constexpr size_t kMaxSize =
        kIsCopy ? sizeof(T) : Encoding::template kMaxSize<T>;
    while (count > 0) {
      if (!Reserve(kMaxSize))
        return;
      // The number of elements that fit even if all have the largest size.
      const size_t fitting =
          count < room() / kMaxSize ? count : room() / kMaxSize;
      if constexpr (kIsCopy) {
        memcpy(write_ptr_, values, fitting * sizeof(T));
        write_ptr_ += fitting * sizeof(T);
      } else {
        write_ptr_ = Encoding::Write(values, fitting, write_ptr_);
      }
      values += fitting;
      count -= fitting;
    }
  }

  uint8_t* write_ptr_;

 private:
  uint8_t* storage() { return heap_ ? heap_ : on_stack_; }
  const uint8_t* storage() const { return heap_ ? heap_ : on_stack_; }
  size_t room() const { return static_cast<size_t>(end_ - write_ptr_); }

  // Begins to write to storage(), which has |capacity| bytes. Inlining it makes
  // code smaller, too.
  PROTOZERO_ALWAYS_INLINE void SetStorage(size_t capacity) {
    write_ptr_ = storage();
    end_ = write_ptr_ + capacity;
    fast_limit_ = (reinterpret_cast<uintptr_t>(end_) -
                   (proto_utils::kMaxVarIntEncodedSize - 1)) &
                  internal::kInlineEncodingMask;
  }

  PROTOZERO_COLD bool Grow();
  void AppendVarIntSlowPath(uint64_t bits);

  uint8_t* end_;
  // The address below which WriteVarInt56Inline() can write any varint; 0 where
  // that function must not be called.
  uintptr_t fast_limit_;
  uint8_t* heap_ = nullptr;
  bool ok_ = true;
  uint8_t on_stack_[kOnStackStorageSize];
};

namespace internal {

// Appends a packed field whose elements need encoding, without the heap.
// Encodes elements that do not fit one block twice, the first time to learn
// their size.
template <typename Encoding, typename T>
PROTOZERO_NOINLINE void EncodePackedField(Message* message,
                                          uint32_t field_id,
                                          const T* values,
                                          size_t count) noexcept {
  constexpr size_t kMaxSize = Encoding::template kMaxSize<T>;
  uint8_t block[PackedBufferBase::kOnStackStorageSize];
  const T* const end = values + count;
  // Encodes elements from |next| on while they surely fit.
  const auto fill_block = [&block, end](const T*& next) {
    uint8_t* pos = block;
    for (;;) {
      const size_t left = static_cast<size_t>(end - next);
      size_t fitting =
          static_cast<size_t>(block + sizeof(block) - pos) / kMaxSize;
      fitting = left < fitting ? left : fitting;
      if (fitting == 0)
        return static_cast<size_t>(pos - block);
      pos = Encoding::Write(next, fitting, pos);
      next += fitting;
    }
  };

  const T* next = values;
  uint64_t size = fill_block(next);
  if (next == end)
    return message->AppendBytes(field_id, block,
                                PROTOZERO_RUNTIME::internal::ToSize(size));
  while (next != end)
    size += fill_block(next);
  if (!AppendBytesHeader(message, field_id, size))
    return;
  for (next = values; next != end;)
    message->AppendRawProtoBytes(block, fill_block(next));
}

template <typename Encoding, typename T>
PROTOZERO_ALWAYS_INLINE void AppendPackedField(Message* message,
                                               uint32_t field_id,
                                               const T* values,
                                               size_t count) {
  if constexpr (Encoding::template kIsCopy<T>) {
    message->AppendBytes(field_id, values, count * sizeof(T));
  } else {
    EncodePackedField<Encoding>(message, field_id, values, count);
  }
}

}  // namespace internal

// All three classes below have:
//
//   Append(value)            one element.
//   Append(values, count)    the |count| elements of an array: the same bytes,
//                            in less time. |values| may be null if there are
//                            none.
//   AppendField(message, field_id, values, count)
//                            writes a whole packed field to |message|, without
//                            a buffer of this kind and without the heap: what
//                            generated setters of arrays call. Bools, and fixed
//                            numbers on little-endian machines, are copied from
//                            the array straight into the stream. More than
//                            proto_utils::kMaxMessageLength encoded bytes are
//                            the error kMessageTooLong. REQUIRES: the array
//                            does not overlap the current chunk.

// The common base of the two builders of varints.
template <typename EncodingOfBits>
class PackedVarIntBuffer : public PackedBufferBase {
  using Encoding = internal::PackedVarIntEncoding<EncodingOfBits>;

 public:
  // Adds |value|, or the |count| elements of an array; AppendField() writes a
  // whole field. The list above has the details.
  template <typename T>
  PROTOZERO_ALWAYS_INLINE void Append(T value) {
    AppendVarInt<T>(EncodingOfBits::ToBits(value));
  }
  template <typename T>
  void Append(const T* values, size_t count) {
    AppendArray<Encoding>(values, count);
  }
  template <typename T>
  PROTOZERO_ALWAYS_INLINE static void AppendField(Message* message,
                                                  uint32_t field_id,
                                                  const T* values,
                                                  size_t count) {
    internal::AppendPackedField<Encoding>(message, field_id, values, count);
  }
};

// Packed int32, int64, uint32, uint64, bool and enum fields.
class PackedVarInt : public PackedVarIntBuffer<internal::PlainBits> {
 public:
  // Declared because `PackedVarInt()` would otherwise clear the storage.
  PackedVarInt() {}
};

// Packed sint32 and sint64 fields.
class PackedSignedVarInt : public PackedVarIntBuffer<internal::ZigZagBits> {
 public:
  // Empty.
  PackedSignedVarInt() {}
};

// Packed fixed32, fixed64, sfixed32, sfixed64, float and double fields: T is
// uint32_t, uint64_t, int32_t, int64_t, float and double, in this order.
template <typename T>
class PackedFixedSizeInt : public PackedBufferBase {
  using Encoding = internal::PackedFixedEncoding;

 public:
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
  static_assert(std::is_arithmetic<T>::value, "fixed fields hold numbers");

  // Empty.
  PackedFixedSizeInt() {}

  // Do the same as in PackedVarIntBuffer.
  void Append(T value) {
    if (PROTOZERO_LIKELY(Reserve(sizeof(T))))
      write_ptr_ = Encoding::Write(&value, 1, write_ptr_);
  }
  void Append(const T* values, size_t count) {
    AppendArray<Encoding>(values, count);
  }
  PROTOZERO_ALWAYS_INLINE static void AppendField(Message* message,
                                                  uint32_t field_id,
                                                  const T* values,
                                                  size_t count) {
    internal::AppendPackedField<Encoding>(message, field_id, values, count);
  }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_PACKED_REPEATED_FIELDS_H_
