// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_PBZ_DECODER_H_
#define INCLUDE_PROTOZERO_C_PBZ_DECODER_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Reads protobuf messages from C, from C99 on, and from C++: the C form of
// "protozero/proto_decoder.h", which takes and refuses the same bytes. The
// bytes may be anything. Nothing is copied, and nothing allocates.
//
//   pbz_decoder decoder;
//   pbz_field field;
//   pbz_decoder_init(&decoder, bytes, size);
//   while (pbz_decoder_next(&decoder, &field)) {
//     switch (field.number) {
//       case 1:
//         id = pbz_field_uint64(&field);
//         break;
//       case 2:
//         pbz_decoder_init(&child, field.data, field.size);
//         break;
//     }
//   }
//   if (decoder.status != PBZ_DECODE_OK)
//     return decoder.error_offset;

#if defined(__GNUC__)
#define PBZ_NOINLINE static __attribute__((noinline, unused))
#else
#define PBZ_NOINLINE static inline
#endif

// The reason why a decoder stopped before the end of its input.
typedef enum pbz_decode_status {
  PBZ_DECODE_OK = 0,
  // A tag, a value or a payload goes beyond the end, or a group has no end.
  PBZ_DECODE_TRUNCATED = 1,
  // A varint of more than ten bytes, or a tag of more than five bytes or more
  // than 32 bits.
  PBZ_DECODE_BAD_VARINT = 2,
  // Field number 0.
  PBZ_DECODE_BAD_FIELD_NUMBER = 3,
  // Wire type 6 or 7.
  PBZ_DECODE_BAD_WIRE_TYPE = 4,
  // The end of a group that has not begun, or of one with another number.
  PBZ_DECODE_UNMATCHED_END_GROUP = 5,
  // Groups are nested deeper than PBZ_MAX_GROUP_DEPTH.
  PBZ_DECODE_TOO_DEEP = 6,
  // A payload or a group of 4 GiB or more.
  PBZ_DECODE_TOO_LONG = 7
} pbz_decode_status;

// The depth to which groups may be nested in a group.
enum { PBZ_MAX_GROUP_DEPTH = 100 };

// The wire type in a field's tag. A group is a field with bytes.
typedef enum pbz_wire_type {
  PBZ_WIRE_VARINT = 0,
  PBZ_WIRE_FIXED64 = 1,
  PBZ_WIRE_BYTES = 2,
  PBZ_WIRE_GROUP = 3,
  PBZ_WIRE_FIXED32 = 5
} pbz_wire_type;

// A field as it was read. It may have another wire type than the schema says:
// then the pbz_field_...() functions return 0.
typedef struct pbz_field {
  uint32_t number;
  pbz_wire_type wire_type;
  // 0 for bytes and groups.
  uint64_t value;
  // The bytes, or a group's contents without its tags. Null and 0 for numbers.
  const uint8_t* data;
  size_t size;
} pbz_field;

// The state of a decoder: its position, its input and its status.
// pbz_decoder_init() sets it.
typedef struct pbz_decoder {
  const uint8_t* pos;
  const uint8_t* end;
  const uint8_t* begin;
  pbz_decode_status status;
  // The offset of the malformed field's tag. In a group, it is the field inside
  // of the group that counts.
  size_t error_offset;
} pbz_decoder;

// --- Implementation, up to the functions for users ---

static inline uint64_t pbz_load_(const uint8_t* pos, size_t size) {
  uint64_t value = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(&value, pos, size);
#else
  size_t i;
  for (i = 0; i < size; ++i)
    value |= (uint64_t)pos[i] << (8 * i);
#endif
  return value;
}

// Returns the byte after the varint, or null. Ignores bits beyond the 64th, as
// all of protobuf does.
static inline const uint8_t* pbz_get_varint_(const uint8_t* pos,
                                             const uint8_t* end,
                                             uint64_t* value) {
  unsigned shift;
  uint64_t bits = 0;
  for (shift = 0; shift < 70 && pos != end; shift += 7) {
    const uint8_t byte = *pos++;
    bits |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = bits;
      return pos;
    }
  }
  return NULL;
}

static inline const uint8_t* pbz_fail_decode_(pbz_decode_status* status,
                                              pbz_decode_status why) {
  *status = why;
  return NULL;
}

// Sets the reason why there is no varint of up to |max_size| bytes. Returns
// null.
static inline const uint8_t* pbz_fail_varint_(pbz_decode_status* status,
                                              const uint8_t* pos,
                                              const uint8_t* end,
                                              size_t max_size) {
  return pbz_fail_decode_(status, (size_t)(end - pos) < max_size
                                      ? PBZ_DECODE_TRUNCATED
                                      : PBZ_DECODE_BAD_VARINT);
}

// Reads the tag at |pos|. Returns the byte after it; null, and sets |status|,
// if it is malformed.
static inline const uint8_t* pbz_get_tag_(const uint8_t* pos,
                                          const uint8_t* end,
                                          uint32_t* tag,
                                          pbz_decode_status* status) {
  uint64_t value = 0;
  const uint8_t* const next = pbz_get_varint_(pos, end, &value);
  if (next == NULL)
    return pbz_fail_varint_(status, pos, end, 5);
  if (value > UINT32_MAX || next - pos > 5)
    return pbz_fail_decode_(status, PBZ_DECODE_BAD_VARINT);
  *tag = (uint32_t)value;
  return next;
}

// Reads the value at |pos| of a field that is no group. Returns the same as
// pbz_get_tag_().
static inline const uint8_t* pbz_get_value_(uint32_t tag,
                                            const uint8_t* pos,
                                            const uint8_t* end,
                                            pbz_field* field,
                                            pbz_decode_status* status) {
  const uint8_t* next;
  uint64_t size = 0;
  field->number = tag >> 3;
  field->value = 0;
  field->data = NULL;
  field->size = 0;
  if (field->number == 0)
    return pbz_fail_decode_(status, PBZ_DECODE_BAD_FIELD_NUMBER);
  switch (tag & 7) {
    case PBZ_WIRE_VARINT:
      field->wire_type = PBZ_WIRE_VARINT;
      next = pbz_get_varint_(pos, end, &field->value);
      return next != NULL ? next : pbz_fail_varint_(status, pos, end, 10);
    case PBZ_WIRE_BYTES:
      field->wire_type = PBZ_WIRE_BYTES;
      next = pbz_get_varint_(pos, end, &size);
      if (next == NULL)
        return pbz_fail_varint_(status, pos, end, 10);
      if (size > (size_t)(end - next))
        return pbz_fail_decode_(status, PBZ_DECODE_TRUNCATED);
      if (size > UINT32_MAX)
        return pbz_fail_decode_(status, PBZ_DECODE_TOO_LONG);
      field->data = next;
      field->size = (size_t)size;
      return next + size;
    case PBZ_WIRE_FIXED64:
    case PBZ_WIRE_FIXED32: {
      const size_t width = (tag & 7) == PBZ_WIRE_FIXED64 ? 8 : 4;
      field->wire_type = width == 8 ? PBZ_WIRE_FIXED64 : PBZ_WIRE_FIXED32;
      if ((size_t)(end - pos) < width)
        return pbz_fail_decode_(status, PBZ_DECODE_TRUNCATED);
      field->value = pbz_load_(pos, width);
      return pos + width;
    }
    case 3:  // The start of a group is no value.
    case 4:
      return pbz_fail_decode_(status, PBZ_DECODE_UNMATCHED_END_GROUP);
    default:
      return pbz_fail_decode_(status, PBZ_DECODE_BAD_WIRE_TYPE);
  }
}

// Reads the group with |tag| whose contents are at |pos|. Returns the byte
// after its end. If it is malformed, returns null, sets |status|, and moves
// |*error| to the malformed field's tag. Not recursive, because the input
// decides on the depth.
PBZ_NOINLINE const uint8_t* pbz_get_group_(uint32_t tag,
                                           const uint8_t* pos,
                                           const uint8_t* end,
                                           pbz_field* field,
                                           pbz_decode_status* status,
                                           const uint8_t** error) {
  uint32_t numbers[PBZ_MAX_GROUP_DEPTH];
  size_t depth = 0;
  const uint8_t* const start = *error;
  field->number = tag >> 3;
  field->wire_type = PBZ_WIRE_GROUP;
  field->value = 0;
  field->data = pos;
  field->size = 0;
  numbers[depth++] = tag >> 3;
  while (pos != end) {
    pbz_field inner;
    uint32_t inner_tag = 0;
    const uint8_t* next = pbz_get_tag_(pos, end, &inner_tag, status);
    *error = pos;
    if (next == NULL)
      return NULL;
    if ((inner_tag & 7) == 3 && inner_tag >> 3 != 0) {
      if (depth == PBZ_MAX_GROUP_DEPTH)
        return pbz_fail_decode_(status, PBZ_DECODE_TOO_DEEP);
      numbers[depth++] = inner_tag >> 3;
    } else if (inner_tag == (numbers[depth - 1] << 3 | 4)) {
      if (--depth == 0) {
        *error = start;
        field->size = (size_t)(pos - field->data);
        return field->size <= UINT32_MAX
                   ? next
                   : pbz_fail_decode_(status, PBZ_DECODE_TOO_LONG);
      }
    } else {
      next = pbz_get_value_(inner_tag, next, end, &inner, status);
      if (next == NULL)
        return NULL;
    }
    pos = next;
  }
  *error = start;
  return pbz_fail_decode_(status, PBZ_DECODE_TRUNCATED);
}

// --- For users ---

// Begins to read at |data|. REQUIRES: the |size| bytes at |data| exist as long
// as fields are read. |data| may be null if there are none.
static inline void pbz_decoder_init(pbz_decoder* decoder,
                                    const void* data,
                                    size_t size) {
  static const uint8_t none = 0;
  decoder->begin = data != NULL ? (const uint8_t*)data : &none;
  decoder->pos = decoder->begin;
  decoder->end = decoder->begin + (data != NULL ? size : 0);
  decoder->status = PBZ_DECODE_OK;
  decoder->error_offset = 0;
}

// Reads the next field. Returns false at the end, and if the bytes are
// malformed: then |status| says so, and the decoder stays where it is.
static inline bool pbz_decoder_next(pbz_decoder* decoder, pbz_field* field) {
  const uint8_t* const pos = decoder->pos;
  const uint8_t* const end = decoder->end;
  const uint8_t* error = pos;
  const uint8_t* next;
  uint32_t tag = 0;
  if (pos == end)
    return false;
  next = pbz_get_tag_(pos, end, &tag, &decoder->status);
  if (next != NULL) {
    next = (tag & 7) == 3 && tag >> 3 != 0
               ? pbz_get_group_(tag, next, end, field, &decoder->status, &error)
               : pbz_get_value_(tag, next, end, field, &decoder->status);
  }
  if (next == NULL) {
    decoder->error_offset = (size_t)(error - decoder->begin);
    return false;
  }
  decoder->pos = next;
  return true;
}

// Returns a sentence for a log line. Never null.
static inline const char* pbz_decode_status_string(pbz_decode_status status) {
  switch (status) {
    case PBZ_DECODE_OK:
      return "ok";
    case PBZ_DECODE_TRUNCATED:
      return "a field goes beyond the end";
    case PBZ_DECODE_BAD_VARINT:
      return "a varint is too long";
    case PBZ_DECODE_BAD_FIELD_NUMBER:
      return "a field number is 0";
    case PBZ_DECODE_BAD_WIRE_TYPE:
      return "a wire type is 6 or 7";
    case PBZ_DECODE_UNMATCHED_END_GROUP:
      return "a group ends that has not begun";
    case PBZ_DECODE_TOO_DEEP:
      return "groups are nested too deep";
    case PBZ_DECODE_TOO_LONG:
      return "a field has 4 GiB or more";
  }
  return "unknown status";
}

// Return the number of a field, by schema type; an enum is an int32. Cut off
// the upper bits of larger numbers. Return 0 for bytes.
static inline uint64_t pbz_field_uint64(const pbz_field* field) {
  return field->value;
}
static inline int64_t pbz_field_int64(const pbz_field* field) {
  return (int64_t)field->value;
}
static inline uint32_t pbz_field_uint32(const pbz_field* field) {
  return (uint32_t)field->value;
}
static inline int32_t pbz_field_int32(const pbz_field* field) {
  return (int32_t)(uint32_t)field->value;
}
static inline int64_t pbz_field_sint64(const pbz_field* field) {
  return (int64_t)(field->value >> 1 ^ (0 - (field->value & 1)));
}
static inline int32_t pbz_field_sint32(const pbz_field* field) {
  const uint32_t bits = (uint32_t)field->value;
  return (int32_t)(bits >> 1 ^ (0 - (bits & 1)));
}
static inline bool pbz_field_bool(const pbz_field* field) {
  return field->value != 0;
}
// Returns 0 unless the field has four bytes.
static inline float pbz_field_float(const pbz_field* field) {
  const uint32_t bits =
      field->wire_type == PBZ_WIRE_FIXED32 ? (uint32_t)field->value : 0;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
// Returns 0 unless the field has eight bytes.
static inline double pbz_field_double(const pbz_field* field) {
  const uint64_t bits = field->wire_type == PBZ_WIRE_FIXED64 ? field->value : 0;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// A reader of the numbers in one repeated field, packed or not:
//
//   pbz_field number;
//   pbz_packed packed;
//   pbz_packed_init(&packed, &field, PBZ_WIRE_VARINT);
//   while (pbz_packed_next(&packed, &number))
//     sum += pbz_field_int64(&number);
//
// `packed.status` says whether the bytes are malformed.
typedef struct pbz_packed {
  const uint8_t* pos;
  const uint8_t* end;
  pbz_field number;
  pbz_decode_status status;
  // True if the field is not packed, and |number| has not been read yet.
  bool is_single;
} pbz_packed;

// Begins to read |field|. |wire_type| is that of the elements: varint, fixed32
// or fixed64. A field of another wire type, unless it is bytes, has no
// elements.
static inline void pbz_packed_init(pbz_packed* packed,
                                   const pbz_field* field,
                                   pbz_wire_type wire_type) {
  const bool is_packed = field->wire_type == PBZ_WIRE_BYTES;
  packed->pos = is_packed ? field->data : NULL;
  packed->end = is_packed ? field->data + field->size : NULL;
  packed->number = *field;
  packed->number.wire_type = wire_type;
  packed->number.data = NULL;
  packed->number.size = 0;
  packed->status = PBZ_DECODE_OK;
  packed->is_single = field->wire_type == wire_type;
}

// Reads the next number. Returns false if there is none, or if it is malformed.
static inline bool pbz_packed_next(pbz_packed* packed, pbz_field* number) {
  if (packed->is_single) {
    packed->is_single = false;
    *number = packed->number;
    return true;
  }
  if (packed->pos == packed->end)
    return false;
  packed->pos = pbz_get_value_(
      packed->number.number << 3 | (uint32_t)packed->number.wire_type,
      packed->pos, packed->end, number, &packed->status);
  if (packed->pos == NULL)
    packed->end = NULL;
  return packed->end != NULL;
}

#undef PBZ_NOINLINE

#endif  // INCLUDE_PROTOZERO_C_PBZ_DECODER_H_
