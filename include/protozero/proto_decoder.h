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

// Reading protobuf messages, without copying and without allocating: from a
// loop over whatever fields there are (ProtoDecoder) to classes that know a
// schema's fields (MessageDecoder, which generated decoders derive from).
//
// The bytes may come from anybody: no input makes a decoder crash, hang, or
// read outside of it. They must stay as they are while the decoder, and the
// fields and iterators that it has given, are in use. Objects are independent
// of each other and of threads; one that is shared between threads needs a lock
// unless all of them call const functions.

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
  // How deep groups may be nested in a group.
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

  // The next field. At the end, and where a field is malformed, an invalid one:
  // status() tells which. Once that has happened it happens again.
  Field ReadField();

  // The first field with this id in the message, or an invalid one. ReadField()
  // goes on where it was. Looks at the fields before it only, but what is
  // malformed there sets status().
  Field FindField(uint32_t id);

  // To the beginning, or to |pos|. REQUIRES: |pos| is where a field begins.
  void Reset() { Reset(begin_); }
  void Reset(const uint8_t* pos) {
    read_ptr_ = pos;
    status_ = DecodeStatus::kOk;
  }

  // Why ReadField() or FindField() found a malformed field, kOk as long as they
  // did not. Reset() makes it kOk.
  DecodeStatus status() const { return status_; }
  // Where the tag of the malformed field is, from begin() on; in a group, the
  // field inside of it (unless the group has no end). 0 if status() is kOk.
  size_t error_offset() const {
    return status_ == DecodeStatus::kOk
               ? 0
               : static_cast<size_t>(error_ptr_ - begin_);
  }

  // Where the next field begins, from begin() on.
  size_t read_offset() const { return static_cast<size_t>(read_ptr_ - begin_); }
  // How much has not been read. begin() and end() are those of the whole
  // message.
  size_t bytes_left() const { return static_cast<size_t>(end_ - read_ptr_); }
  const uint8_t* begin() const { return begin_; }
  const uint8_t* end() const { return end_; }

 protected:
  // What common code does not read.
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
  // Independent of the range.
  class PROTOZERO_EXPORT Iterator {
   public:
    // <string_view> declares this tag for its own iterators. <iterator> would
    // bring streams and locales along.
    using iterator_category = std::input_iterator_tag;
    using value_type = Field;
    using difference_type = ptrdiff_t;
    using pointer = const Field*;
    using reference = const Field&;

    // For UnknownFieldRange.
    Iterator(const uint8_t* begin,
             const uint8_t* end,
             const internal::DecoderSchema* schema)
        : next_(begin), end_(end), schema_(schema) {
      ++*this;
    }
    // The field, until the iterator moves on. ++ reads the next one.
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
    // How many fields there are from |b| to |a|: reads them. REQUIRES: |a| is
    // not before |b|.
    friend ptrdiff_t operator-(const Iterator& a, Iterator b) {
      ptrdiff_t count = 0;
      for (; b != a; ++b)
        ++count;
      return count;
    }

   private:
    const uint8_t* pos_;  // Where the field begins; end_ behind the last one.
    const uint8_t* next_;
    const uint8_t* end_;
    const internal::DecoderSchema* schema_;
    Field field_{};
  };

  // For decoders, which return it.
  UnknownFieldRange(const uint8_t* begin,
                    const uint8_t* end,
                    const internal::DecoderSchema* schema)
      : begin_(begin), end_(end), schema_(schema) {}

  // For loops over it.
  Iterator begin() const { return Iterator(begin_, end_, schema_); }
  Iterator end() const { return Iterator(end_, end_, schema_); }

 private:
  const uint8_t* begin_;
  const uint8_t* end_;
  const internal::DecoderSchema* schema_;
};

// A message whose fields have been read once, when the decoder was constructed,
// so that each can be asked for at no cost. The constructor stops at a
// malformed field: status() tells, and all fields before it are there.
//
// Of a field that is there more than once the last one counts, as protobuf says
// of fields that are not repeated. (It also says that nested messages are to be
// merged: GetRepeated<ConstBytes>() has all of them.)
class PROTOZERO_EXPORT TypedProtoDecoderBase : public ProtoDecoder {
 public:
  // The field, or an invalid one if the message or the schema does not have it.
  const Field& Get(uint32_t id) const {
    const uint32_t slot = schema_->SlotOf(id);
    return slot != internal::DecoderSchema::kNoSlot && first_[slot] != 0
               ? slots_[slot]
               : kAbsent;
  }
  // Whether Get() returns a valid field.
  bool HasField(uint32_t id) const { return Get(id).valid(); }

  // All of them. Nothing if the schema does not have the id. Iterators take
  // their values from the message, from the first of them on.
  template <typename T>
  RepeatedFieldIterator<T> GetRepeated(uint32_t id) const {
    return RepeatedFieldIterator<T>(FieldsOf(id));
  }

  // The same of numbers of the schema's type |type|, packed or not. See
  // RepeatedScalarIterator for |parse_error|.
  template <proto_utils::ProtoSchemaType type>
  RepeatedFieldIterator<typename internal::ScalarTypeOf<type>::type>
  GetRepeated(uint32_t id, bool* parse_error = nullptr) const {
    return {FieldsOf(id), type, parse_error};
  }

  // The same, faster where fields are packed: the type of the iterator tells
  // the encoding. Those of different schema types are different.
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

  // Which of these fields, the members of a oneof, is the last in the message;
  // 0 for none. REQUIRES: the schema has the ids.
  uint32_t WhichOneof(std::initializer_list<uint32_t> ids) const;

  // Up to the end, or to where the message is malformed.
  UnknownFieldRange unknown_fields() const {
    return UnknownFieldRange(begin_, end_, schema_);
  }

 protected:
  // |first| and |slots| have an element for each field of the schema. ReadAll()
  // comes next.
  TypedProtoDecoderBase(const void* data,
                        size_t size,
                        const internal::DecoderSchema* schema,
                        uint32_t* first,
                        Field* slots)
      : ProtoDecoder(data, size),
        schema_(schema),
        first_(first),
        slots_(slots) {}
  // REQUIRES: |first| is all zero. |slots| need not be initialized.
  void ReadAll();
  // Takes over all but where fields are stored.
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
  // In an element of |first_|: there is more than one.
  static constexpr uint32_t kSeveral = uint32_t{1} << 31;

  internal::RepeatedFields FieldsOf(uint32_t id) const;
  const uint8_t* FirstIn(uint32_t slot) const {
    return begin_ + (first_[slot] & ~kSeveral) - 1;
  }

  const internal::DecoderSchema* schema_;
  // By slot: 0 if there is no field of its id. Otherwise where the first one
  // begins, one more than its offset (where that does not fit, 1, the beginning
  // of the message), and kSeveral.
  uint32_t* first_;
  // The last one, not initialized if there is none.
  Field* slots_;
};

namespace internal {

// A typed decoder with slots inside.
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
  // |used_count| is the schema's, as a constant.
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

  // For generated getters, which know the ranks of their ids. A slot is an int,
  // as those literals are, so that compilers have nothing to convert.
  bool Has(int slot) const { return storage_.by_slot.first[slot] != 0; }
  const Field& Slot(int slot) const {
    return Has(slot) ? storage_.by_slot.slots[slot] : kAbsent;
  }
  // Its value. One name instead of two for compilers to look up, in each getter
  // of a header.
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
  // A union, so that it is copied as bytes: not all of it is initialized.
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

// A decoder for messages with the fields |ids|, in ascending order; what else
// is in a message is skipped, see unknown_fields(). Generated decoders, such as
// Event::Decoder, derive from it. Takes 20 bytes per id, inside the object;
// never allocates. What the ids are does not matter to the time it takes.
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
// second argument is for source compatibility: any field can be asked for as
// repeated.
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

// The ids, in any order, that a SelectiveTypedProtoDecoder shall know.
template <uint32_t... ids>
struct SelectiveDecodeMask {
  // The largest one; 0 if there is none.
  static constexpr uint32_t kMaxFieldId = [] {
    uint32_t max = 0;
    ((max = ids > max ? ids : max), ...);
    return max;
  }();
  // Whether |id| is one of them.
  static constexpr bool contains([[maybe_unused]] uint32_t id) {
    return ((id == ids) || ...);
  }
};

// Knows some of the fields 1 to MAX_FIELD_ID, which the constructor says; all
// others are unknown_fields(). For code that looks into a few fields and passes
// the rest on as it is.
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

  // Invalid for those that are not in the mask.
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
