// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_PROTO_DECODER_H_
#define INCLUDE_PROTOZERO_PROTO_DECODER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "protozero/decode_status.h"
#include "protozero/field.h"
#include "protozero/internal/decoder_schema.h"
#include "protozero/proto_utils.h"
#include "protozero/repeated_fields.h"

#include "protozero/internal/macros.h"

// Decoders read protobuf messages without copying and without allocating.
// ProtoDecoder loops over whatever fields there are; MessageDecoder, which
// generated decoders derive from, knows a schema's fields.
//
// The bytes may come from anybody: no input makes a decoder crash, hang, or
// read outside of it. The bytes must not change while the decoder, or a field
// or iterator from it, is in use. Objects are independent of each other and of
// threads. An object that is shared between threads needs a lock unless all of
// them call const functions.

namespace protozero {
PROTOZERO_ABI_BEGIN

// Reads the fields of a message one after the other:
//
//   ProtoDecoder decoder(data, size);
//   for (Field field = decoder.ReadField(); field; field = decoder.ReadField())
//   {
//     if (field.id() == 3)
//       Use(field.as_uint64());
//   }
//   if (decoder.status() != DecodeStatus::kOk)
//     Report(decoder.status(), decoder.error_offset());
//
// A nested message or group is a field with bytes, for a decoder of its own.
class PROTOZERO_EXPORT ProtoDecoder {
 public:
  // The depth to which groups may be nested in a group.
  static constexpr uint32_t kMaxGroupDepth = 100;

  // REQUIRES: the bytes outlive the decoder and the fields that it returns.
  ProtoDecoder(const void* data, size_t size)
      : begin_(static_cast<const uint8_t*>(data)),
        end_(begin_ + size),
        read_ptr_(begin_) {}
  explicit ProtoDecoder(const std::string& bytes)
      : ProtoDecoder(bytes.data(), bytes.size()) {}
  explicit ProtoDecoder(std::string_view bytes)
      : ProtoDecoder(bytes.data(), bytes.size()) {}
  explicit ProtoDecoder(const ConstBytes& bytes)
      : ProtoDecoder(bytes.data, bytes.size) {}

  // Returns the next field. At the end, and where a field is malformed, returns
  // an invalid one, and again with each later call; status() tells which of the
  // two it is.
  Field ReadField();

  // Returns the first field with this id in the message, or an invalid one.
  // Does not move ReadField(). Looks only at the fields before it, but a
  // malformed one there sets status().
  Field FindField(uint32_t id);

  // Moves to the beginning, or to |pos|. REQUIRES: a field begins at |pos|.
  void Reset() { Reset(begin_); }
  void Reset(const uint8_t* pos) {
    read_ptr_ = pos;
    status_ = DecodeStatus::kOk;
  }

  // Returns the reason why ReadField() or FindField() found a field malformed;
  // kOk if they found none. Reset() makes it kOk.
  DecodeStatus status() const { return status_; }
  // Returns the offset of the malformed field's tag from begin(). In a group,
  // it is the field inside of the group that counts (unless the group has no
  // end). 0 if status() is kOk.
  size_t error_offset() const {
    return status_ == DecodeStatus::kOk
               ? 0
               : static_cast<size_t>(error_ptr_ - begin_);
  }

  // Returns the offset of the next field from begin().
  size_t read_offset() const { return static_cast<size_t>(read_ptr_ - begin_); }
  // Returns the number of bytes not yet read. begin() and end() belong to the
  // whole message.
  size_t bytes_left() const { return static_cast<size_t>(end_ - read_ptr_); }
  const uint8_t* begin() const { return begin_; }
  const uint8_t* end() const { return end_; }

 protected:
  // Reads the fields that the code for common ones leaves out.
  PROTOZERO_NOINLINE Field ReadAnyField();
  PROTOZERO_COLD void SetError(const uint8_t* field);

  const uint8_t* begin_;
  const uint8_t* end_;
  const uint8_t* read_ptr_;
  const uint8_t* error_ptr_;  // Set along with status_.
  DecodeStatus status_ = DecodeStatus::kOk;
};

// The fields that a typed decoder does not know, in the order of the wire:
//   for (const Field& field : decoder.unknown_fields())
class UnknownFieldRange {
 public:
  // An iterator that does not need the range.
  class PROTOZERO_EXPORT Iterator {
   public:
    // <string_view> declares this tag for its own iterators. <iterator> would
    // include streams and locales, too.
    using iterator_category = std::input_iterator_tag;
    using value_type = Field;
    using difference_type = ptrdiff_t;
    using pointer = const Field*;
    using reference = const Field&;

    // UnknownFieldRange makes these.
    Iterator(const uint8_t* begin,
             const uint8_t* end,
             const internal::DecoderSchema* schema)
        : next_(begin), end_(end), schema_(schema) {
      ++*this;
    }
    // Returns the field, valid until the iterator moves on. ++ reads the next
    // one.
    const Field& operator*() const { return field_; }
    const Field* operator->() const { return &field_; }
    Iterator& operator++();
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.pos_ == b.pos_;
    }
    friend bool operator!=(const Iterator& a, const Iterator& b) {
      return a.pos_ != b.pos_;
    }
    // Counts the fields from |b| to |a| by reading them. REQUIRES: |a| is not
    // before |b|.
    friend ptrdiff_t operator-(const Iterator& a, Iterator b) {
      ptrdiff_t count = 0;
      for (; b != a; ++b)
        ++count;
      return count;
    }

   private:
    const uint8_t* pos_;  // The field's beginning; end_ after the last one.
    const uint8_t* next_;
    const uint8_t* end_;
    const internal::DecoderSchema* schema_;
    Field field_{};
  };

  // Decoders make and return it.
  UnknownFieldRange(const uint8_t* begin,
                    const uint8_t* end,
                    const internal::DecoderSchema* schema)
      : begin_(begin), end_(end), schema_(schema) {}

  // Ranges of a for loop.
  Iterator begin() const { return Iterator(begin_, end_, schema_); }
  Iterator end() const { return Iterator(end_, end_, schema_); }

 private:
  const uint8_t* begin_;
  const uint8_t* end_;
  const internal::DecoderSchema* schema_;
};

// A message whose fields the constructor has read, so that asking for each
// costs nothing. The constructor stops at a malformed field: status() tells,
// and all fields before it are there.
//
// If a field is there more than once, the last one counts: protobuf's rule for
// fields that are not repeated. (Protobuf also merges nested messages; this
// class does not, but GetRepeated<ConstBytes>() has all of them.)
class PROTOZERO_EXPORT TypedProtoDecoderBase : public ProtoDecoder {
 public:
  // Returns the field, or an invalid one if the message or the schema does not
  // have it.
  const Field& Get(uint32_t id) const {
    const uint32_t slot = schema_->SlotOf(id);
    return slot != internal::DecoderSchema::kNoSlot && first_[slot] != 0
               ? slots_[slot]
               : kAbsent;
  }
  // Returns whether Get() returns a valid field.
  bool HasField(uint32_t id) const { return Get(id).valid(); }

  // Returns all fields with the id; none if the schema does not have it.
  // Iterators read their values from the message, beginning at the first of
  // these fields.
  template <typename T>
  RepeatedFieldIterator<T> GetRepeated(uint32_t id) const {
    return RepeatedFieldIterator<T>(FieldsOf(id));
  }

  // The same for numbers of the schema's type |type|, packed or not. See
  // RepeatedScalarIterator for |parse_error|.
  template <proto_utils::ProtoSchemaType type>
  RepeatedFieldIterator<typename internal::ScalarTypeOf<type>::type>
  GetRepeated(uint32_t id, bool* parse_error = nullptr) const {
    return {FieldsOf(id), type, parse_error};
  }

  // The same, faster where fields are packed: the type of the iterator tells
  // the encoding. Different schema types have different iterators.
  template <proto_utils::ProtoSchemaType type>
  RepeatedScalarIterator<type> GetRepeatedScalar(
      uint32_t id,
      bool* parse_error = nullptr) const {
    return RepeatedScalarIterator<type>(FieldsOf(id), parse_error);
  }
  template <proto_utils::ProtoWireType wire_type, typename T>
  PackedRepeatedFieldIterator<wire_type, T> GetPackedRepeated(
      uint32_t id,
      bool* parse_error = nullptr) const {
    return {FieldsOf(id), parse_error};
  }
  template <proto_utils::ProtoWireType wire_type, typename T>
  UnifiedRepeatedFieldIterator<wire_type, T> GetUnifiedRepeated(
      uint32_t id,
      bool* parse_error = nullptr) const {
    return {FieldsOf(id), parse_error};
  }

  // Returns the id of the last of these fields, the members of a oneof, in the
  // message; 0 if there is none. REQUIRES: the schema has the ids.
  uint32_t WhichOneof(std::initializer_list<uint32_t> ids) const;

  // Returns the unknown fields up to the end, or up to the malformed field.
  UnknownFieldRange unknown_fields() const {
    return UnknownFieldRange(begin_, end_, schema_);
  }

 protected:
  // Needs a call of ReadAll() afterwards. |first| and |slots| have an element
  // for each field of the schema.
  TypedProtoDecoderBase(const void* data,
                        size_t size,
                        const internal::DecoderSchema* schema,
                        uint32_t* first,
                        Field* slots)
      : ProtoDecoder(data, size),
        schema_(schema),
        first_(first),
        slots_(slots) {}
  // Reads the message into |first| and |slots|. REQUIRES: |first| is all zero.
  // |slots| need not be initialized.
  void ReadAll();
  // Copies |other|, but stores the fields in |first| and |slots|.
  TypedProtoDecoderBase(const TypedProtoDecoderBase& other,
                        uint32_t* first,
                        Field* slots)
      : ProtoDecoder(other),
        schema_(other.schema_),
        first_(first),
        slots_(slots) {}
  TypedProtoDecoderBase(const TypedProtoDecoderBase&) = delete;
  TypedProtoDecoderBase& operator=(const TypedProtoDecoderBase& other) {
    ProtoDecoder::operator=(other);
    schema_ = other.schema_;
    return *this;
  }
  ~TypedProtoDecoderBase() = default;

  static const Field kAbsent;

 private:
  // The bit of an element of |first_| that says that there is more than one
  // field.
  static constexpr uint32_t kSeveral = uint32_t{1} << 31;

  internal::RepeatedFields FieldsOf(uint32_t id) const;
  const uint8_t* FirstIn(uint32_t slot) const {
    return begin_ + (first_[slot] & ~kSeveral) - 1;
  }

  const internal::DecoderSchema* schema_;
  // One element for each slot: 0 if there is no field of its id. Otherwise the
  // first field's offset plus one (if that does not fit, 1, the beginning of
  // the message), and kSeveral.
  uint32_t* first_;
  // The last field of each slot, not initialized if there is none.
  Field* slots_;
};

namespace internal {

// A typed decoder that contains its slots.
template <size_t slot_count>
class DecoderWithSlots : public TypedProtoDecoderBase {
 public:
  DecoderWithSlots(const DecoderWithSlots& other)
      : TypedProtoDecoderBase(other,
                              storage_.by_slot.first,
                              storage_.by_slot.slots),
        storage_(other.storage_) {}
  DecoderWithSlots& operator=(const DecoderWithSlots& other) {
    TypedProtoDecoderBase::operator=(other);
    storage_ = other.storage_;
    return *this;
  }

 protected:
  // |used_count| is the number of fields in the schema, as a constant.
  DecoderWithSlots(const void* data,
                   size_t size,
                   const DecoderSchema* schema,
                   size_t used_count = slot_count)
      : TypedProtoDecoderBase(data,
                              size,
                              schema,
                              storage_.by_slot.first,
                              storage_.by_slot.slots) {
    memset(storage_.by_slot.first, 0, used_count * sizeof(uint32_t));
    ReadAll();
  }
  ~DecoderWithSlots() = default;

  // Generated getters call these: they know the ranks of their ids. A slot is
  // an int, like literals, so that compilers have nothing to convert.
  bool Has(int slot) const { return storage_.by_slot.first[slot] != 0; }
  const Field& Slot(int slot) const {
    return Has(slot) ? storage_.by_slot.slots[slot] : kAbsent;
  }
  // Return the value in a slot. Through these, compilers look up one name
  // instead of two in each getter of a header.
  bool AsBool(int slot) const { return Slot(slot).as_bool(); }
  ConstBytes AsBytes(int slot) const { return Slot(slot).as_bytes(); }
  double AsDouble(int slot) const { return Slot(slot).as_double(); }
  float AsFloat(int slot) const { return Slot(slot).as_float(); }
  int32_t AsInt32(int slot) const { return Slot(slot).as_int32(); }
  int64_t AsInt64(int slot) const { return Slot(slot).as_int64(); }
  int32_t AsSint32(int slot) const { return Slot(slot).as_sint32(); }
  int64_t AsSint64(int slot) const { return Slot(slot).as_sint64(); }
  ConstChars AsString(int slot) const { return Slot(slot).as_string(); }
  uint32_t AsUint32(int slot) const { return Slot(slot).as_uint32(); }
  uint64_t AsUint64(int slot) const { return Slot(slot).as_uint64(); }

 private:
  // A union is copied as bytes. That is needed because not all of it is
  // initialized.
  union Storage {
    Storage() {}
    struct {
      uint32_t first[slot_count + (slot_count == 0)];
      Field slots[slot_count + (slot_count == 0)];
    } by_slot;
  };
  Storage storage_;
};

template <uint32_t... ids>
constexpr uint32_t ConstantSlotOf(uint32_t id) {
  uint32_t slot = 0;
  uint32_t found = DecoderSchema::kNoSlot;
  ((id == ids ? found = slot++ : slot++), ...);
  return found;
}

}  // namespace internal

// A decoder for messages with the fields |ids|, in ascending order; it skips
// all other fields, see unknown_fields(). Generated decoders, such as
// Event::Decoder, derive from it. Takes 20 bytes per id, inside the object;
// never allocates. The time it takes does not depend on the values of the ids.
template <uint32_t... ids>
class MessageDecoder : public internal::DecoderWithSlots<sizeof...(ids)> {
 public:
  // Reads the whole message. REQUIRES: the bytes outlive the decoder and its
  // fields.
  MessageDecoder(const void* data, size_t size)
      : MessageDecoder::DecoderWithSlots(data,
                                         size,
                                         &internal::SchemaOf<ids...>::kSchema) {
  }
  explicit MessageDecoder(const std::string& bytes)
      : MessageDecoder(bytes.data(), bytes.size()) {}
  explicit MessageDecoder(std::string_view bytes)
      : MessageDecoder(bytes.data(), bytes.size()) {}
  explicit MessageDecoder(const ConstBytes& bytes)
      : MessageDecoder(bytes.data, bytes.size) {}

  // Get() for an id that the schema has.
  template <uint32_t id>
  const Field& at() const {
    constexpr uint32_t kSlot = internal::ConstantSlotOf<ids...>(id);
    static_assert(kSlot != internal::DecoderSchema::kNoSlot,
                  "the schema has no such field");
    return this->Slot(kSlot);
  }
};

// A decoder for the fields 1 to MAX_FIELD_ID, without generated code. The
// second argument is for source compatibility with Perfetto: GetRepeated()
// works for any field.
template <int MAX_FIELD_ID, bool HAS_NONPACKED_REPEATED_FIELDS = false>
class TypedProtoDecoder
    : public internal::DecoderWithSlots<size_t{MAX_FIELD_ID}> {
 public:
  // Reads the whole message. REQUIRES: the bytes outlive the decoder and its
  // fields.
  TypedProtoDecoder(const void* data, size_t size)
      : TypedProtoDecoder::DecoderWithSlots(
            data,
            size,
            &internal::DenseSchema<uint32_t{MAX_FIELD_ID}>::kSchema) {}
  explicit TypedProtoDecoder(const std::string& bytes)
      : TypedProtoDecoder(bytes.data(), bytes.size()) {}
  explicit TypedProtoDecoder(std::string_view bytes)
      : TypedProtoDecoder(bytes.data(), bytes.size()) {}
  explicit TypedProtoDecoder(const ConstBytes& bytes)
      : TypedProtoDecoder(bytes.data, bytes.size) {}

  // Get() for an id that the schema has.
  template <uint32_t id>
  const Field& at() const {
    static_assert(0 < id && id <= MAX_FIELD_ID, "the schema has no such field");
    return this->Slot(id - 1);
  }
};

// The ids, in any order, that a SelectiveTypedProtoDecoder knows.
template <uint32_t... ids>
struct SelectiveDecodeMask {
  // The largest id; 0 if there is none.
  static constexpr uint32_t kMaxFieldId = [] {
    uint32_t max = 0;
    ((max = ids > max ? ids : max), ...);
    return max;
  }();
  // Returns whether |id| is one of them.
  static constexpr bool contains([[maybe_unused]] uint32_t id) {
    return ((id == ids) || ...);
  }
};

// A decoder that knows only those fields of 1 to MAX_FIELD_ID that the
// constructor names; all others are unknown_fields(). It is for code that looks
// into a few fields and passes the rest on unchanged.
template <int MAX_FIELD_ID>
class SelectiveTypedProtoDecoder
    : public internal::DecoderWithSlots<size_t{MAX_FIELD_ID}> {
 public:
  // Reads the whole message. REQUIRES: the bytes outlive the decoder and its
  // fields.
  template <uint32_t... ids>
  SelectiveTypedProtoDecoder(const void* data,
                             size_t size,
                             SelectiveDecodeMask<ids...>)
      : SelectiveTypedProtoDecoder::DecoderWithSlots(
            data,
            size,
            &internal::UnsortedSchemaOf<ids...>::Schema::kSchema,
            internal::UnsortedSchemaOf<ids...>::Schema::kCount) {
    static_assert(((ids <= MAX_FIELD_ID) && ...), "fields 1 to MAX_FIELD_ID");
  }

  // Returns an invalid field for ids that are not in the mask.
  template <uint32_t id>
  const Field& at() const {
    static_assert(0 < id && id <= MAX_FIELD_ID, "the schema has no such field");
    return this->Get(id);
  }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_PROTO_DECODER_H_
