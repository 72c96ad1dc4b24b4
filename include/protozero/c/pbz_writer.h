// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_PBZ_WRITER_H_
#define INCLUDE_PROTOZERO_C_PBZ_WRITER_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/c/internal/pbz_encoding.h"
#include "protozero/c/internal/pbz_message.h"
#include "protozero/c/internal/pbz_packed.h"
#include "protozero/c/pbz_stream.h"

// Writes protobuf messages from C, from C99 on, and from C++: the C form of
// "protozero/message.h". There is nothing to link with, and nothing allocates.
// The bytes are those that the C++ library writes.
//
//   uint8_t buffer[256];
//   pbz_writer writer;
//   pbz_message event, child;
//   pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
//   pbz_begin(&event, &writer);
//   pbz_append_uint64(&event, 1, 150);
//   pbz_begin_nested(&child, &event, 2);
//   pbz_append_string(&child, 1, "name");
//   pbz_end(&child);
//   uint32_t size = pbz_end(&event);
//   if (pbz_writer_status(&writer) != PBZ_OK)
//     size = 0;
//
// Users call the functions that the plugin generates with `lang=c`, which know
// field numbers and types, rather than those with a field number.
//
// Messages are objects of the caller, mostly on the stack. Only one message of
// a tree is written to at any time, the leaf: a child begins, is written to and
// ends before its parent is written to again. Anything else is the error
// PBZ_WRONG_NESTING. The library detects it without reading the other messages
// of the tree, which may be gone by then.
//
// Errors are states of the writer: the first one stays, and the bytes written
// afterwards are of no use. Callers need to check the status only at the end.
//
// The end of a nested message writes its size, as "protozero/message.h" and
// docs/wire-format.md describe: in one byte if the message has at most 127
// bytes and lies in one chunk, in four otherwise.
//
// One thread at a time may use a writer and its messages. Names that end with
// an underscore are not for users.

// Initializes a writer that gets its chunks from |delegate|. REQUIRES: no
// message is open on |writer|, or no open one is used any more. The same holds
// for pbz_writer_init_buffer().
static inline void pbz_writer_init(pbz_writer* writer,
                                   const pbz_delegate* delegate) {
  memset(writer, 0, sizeof(*writer));
  writer->delegate = delegate;
}

// Initializes a writer to the |size| bytes at |buffer|, and no more.
static inline void pbz_writer_init_buffer(pbz_writer* writer,
                                          void* buffer,
                                          size_t size) {
  pbz_writer_init(writer, NULL);
  writer->begin = (uint8_t*)buffer;
  writer->pos = writer->begin;
  // A null address allows no addition.
  writer->end = size != 0 ? writer->begin + size : writer->begin;
  // A buffer shorter than PBZ_FAST_ROOM_ has no such limit.
  writer->fast_limit =
      size >= PBZ_FAST_ROOM_ ? pbz_fast_limit_of_(writer->end) : 0;
}

// Returns the first error, PBZ_OK if there was none.
static inline pbz_status pbz_writer_status(const pbz_writer* writer) {
  return writer->status;
}

// Returns a sentence for a log line. Never null.
static inline const char* pbz_status_string(pbz_status status) {
  switch (status) {
    case PBZ_OK:
      return "ok";
    case PBZ_OUT_OF_BUFFER:
      return "there is no buffer left";
    case PBZ_MESSAGE_TOO_LONG:
      return "a message or a field is too long";
    case PBZ_WRONG_NESTING:
      return "a message was used while its child was open, or after its end";
    case PBZ_BAD_FIELD_NUMBER:
      return "a field number is not 1 to 536870911";
    case PBZ_INVALID_BUFFER:
      return "a buffer ends before it begins";
  }
  return "unknown status";
}

// Returns the number of bytes in the stream, up to the last end of a root
// message.
static inline uint64_t pbz_writer_written(const pbz_writer* writer) {
  return writer->pos == pbz_no_cursor_() ? writer->written_previously
                                         : pbz_position_(writer, writer->pos);
}

// Begins a root message after the last one that has ended.
static inline void pbz_begin(pbz_message* root, pbz_writer* writer) {
  pbz_stop_(root, NULL, writer);
  if (writer->pos == pbz_no_cursor_()) {
    pbz_fail_(root, PBZ_WRONG_NESTING);
    return;
  }
  root->pos = writer->pos;
  root->fast_limit = writer->fast_limit;
  root->start = pbz_position_(writer, writer->pos);
  writer->pos = pbz_no_cursor_();
}

// Begins a message-typed field of |parent|. Until the child ends, |parent|
// takes nothing else. Overwrites |child|, whatever it was.
static inline void pbz_begin_nested(pbz_message* child,
                                    pbz_message* parent,
                                    uint32_t number) {
  const uint32_t tag = pbz_tag_(number, 2);
  if (!pbz_is_field_number_(number)) {
    pbz_stop_(child, parent, parent->writer);
    pbz_fail_(parent, PBZ_BAD_FIELD_NUMBER);
  } else if (pbz_has_room_(parent)) {
    pbz_begin_narrow_(child, parent, tag);
  } else {
    pbz_begin_slow_(child, parent, tag, 0);
  }
}

// The same for a group, which editions call DELIMITED.
static inline void pbz_begin_group(pbz_message* child,
                                   pbz_message* parent,
                                   uint32_t number) {
  if (!pbz_is_field_number_(number)) {
    pbz_stop_(child, parent, parent->writer);
    pbz_fail_(parent, PBZ_BAD_FIELD_NUMBER);
  } else {
    pbz_begin_slow_(child, parent, pbz_tag_(number, 3), pbz_tag_(number, 4));
  }
}

// Ends any message. Returns its size in bytes, 0 after an error.
static inline uint32_t pbz_end(pbz_message* message) {
  uint8_t* const pos = message->pos;
  if (message->kind == PBZ_NARROW_) {
    // Without the cursor, this is a large number.
    const uintptr_t size = (uintptr_t)pos - (uintptr_t)message->size_field - 1;
    if (PBZ_LIKELY(size <= 127)) {
      *message->size_field = (uint8_t)size;
      message->parent->pos = pos;
      message->pos = pbz_no_cursor_();
      return (uint32_t)size;
    }
  } else if (message->kind == PBZ_ROOT_ &&
             PBZ_LIKELY(pos != pbz_no_cursor_())) {
    pbz_writer* const writer = message->writer;
    const uint64_t size = pbz_position_(writer, pos) - message->start;
    if (PBZ_LIKELY(size <= INT32_MAX && writer->status == PBZ_OK)) {
      message->pos = pbz_no_cursor_();
      writer->pos = pos;
      return (uint32_t)size;
    }
  }
  return pbz_end_slow_(message);
}

// Append fields. REQUIRES: |number| is 1 to 536,870,911. An enum is an int32.
static inline void pbz_append_int32(pbz_message* message,
                                    uint32_t number,
                                    int32_t value) {
  pbz_append_varint_(message, number, (uint64_t)(int64_t)value);
}
static inline void pbz_append_int64(pbz_message* message,
                                    uint32_t number,
                                    int64_t value) {
  pbz_append_varint_(message, number, (uint64_t)value);
}
static inline void pbz_append_uint32(pbz_message* message,
                                     uint32_t number,
                                     uint32_t value) {
  pbz_append_varint_(message, number, value);
}
static inline void pbz_append_uint64(pbz_message* message,
                                     uint32_t number,
                                     uint64_t value) {
  pbz_append_varint_(message, number, value);
}
static inline void pbz_append_sint32(pbz_message* message,
                                     uint32_t number,
                                     int32_t value) {
  pbz_append_varint_(message, number, pbz_zigzag_(value));
}
static inline void pbz_append_sint64(pbz_message* message,
                                     uint32_t number,
                                     int64_t value) {
  pbz_append_varint_(message, number, pbz_zigzag_(value));
}
static inline void pbz_append_bool(pbz_message* message,
                                   uint32_t number,
                                   bool value) {
  pbz_append_tiny_(message, number, value ? 1 : 0);
}
static inline void pbz_append_fixed32(pbz_message* message,
                                      uint32_t number,
                                      uint32_t value) {
  pbz_append_fixed_(message, number, value, sizeof(value));
}
static inline void pbz_append_sfixed32(pbz_message* message,
                                       uint32_t number,
                                       int32_t value) {
  pbz_append_fixed_(message, number, (uint32_t)value, sizeof(value));
}
static inline void pbz_append_fixed64(pbz_message* message,
                                      uint32_t number,
                                      uint64_t value) {
  pbz_append_fixed_(message, number, value, sizeof(value));
}
static inline void pbz_append_sfixed64(pbz_message* message,
                                       uint32_t number,
                                       int64_t value) {
  pbz_append_fixed_(message, number, (uint64_t)value, sizeof(value));
}
static inline void pbz_append_float(pbz_message* message,
                                    uint32_t number,
                                    float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  pbz_append_fixed_(message, number, bits, sizeof(bits));
}
static inline void pbz_append_double(pbz_message* message,
                                     uint32_t number,
                                     double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  pbz_append_fixed_(message, number, bits, sizeof(bits));
}

// Appends a string or bytes field, or a message that is encoded elsewhere.
// |data| may be null if |size| is 0. REQUIRES: |data| does not overlap the
// current chunk. The same holds for the data of the functions below.
static inline void pbz_append_bytes(pbz_message* message,
                                    uint32_t number,
                                    const void* data,
                                    size_t size) {
  const uint32_t tag = pbz_tag_(number, 2);
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
  } else if (pbz_has_room_(message) && size <= 127 &&
             PBZ_LIKELY(size < message->fast_limit - (uintptr_t)message->pos)) {
    uint8_t* const pos = pbz_put_tag_(message->pos, tag);
    *pos = (uint8_t)size;
    if (size != 0)
      memcpy(pos + 1, data, size);
    message->pos = pos + 1 + size;
  } else {
    pbz_append_bytes_slow_(message, tag, data, size);
  }
}

// Appends a string field. REQUIRES: |string| ends with a null, which is not
// written.
static inline void pbz_append_string(pbz_message* message,
                                     uint32_t number,
                                     const char* string) {
  pbz_append_bytes(message, number, string, strlen(string));
}

// Appends fields that are encoded already, tags included.
static inline void pbz_append_encoded(pbz_message* message,
                                      const void* data,
                                      size_t size) {
  pbz_append_raw_slow_(message, data, size);
}

// Append packed fields of |count| elements; a field without elements, too.
static inline void pbz_append_packed_int32(pbz_message* message,
                                           uint32_t number,
                                           const int32_t* values,
                                           size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_INT32_);
}
static inline void pbz_append_packed_int64(pbz_message* message,
                                           uint32_t number,
                                           const int64_t* values,
                                           size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_INT64_);
}
static inline void pbz_append_packed_uint32(pbz_message* message,
                                            uint32_t number,
                                            const uint32_t* values,
                                            size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_UINT32_);
}
static inline void pbz_append_packed_uint64(pbz_message* message,
                                            uint32_t number,
                                            const uint64_t* values,
                                            size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_UINT64_);
}
static inline void pbz_append_packed_sint32(pbz_message* message,
                                            uint32_t number,
                                            const int32_t* values,
                                            size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_SINT32_);
}
static inline void pbz_append_packed_sint64(pbz_message* message,
                                            uint32_t number,
                                            const int64_t* values,
                                            size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_SINT64_);
}
static inline void pbz_append_packed_bool(pbz_message* message,
                                          uint32_t number,
                                          const bool* values,
                                          size_t count) {
  pbz_append_packed_(message, number, values, count, PBZ_PACKED_BOOL_);
}
static inline void pbz_append_packed_fixed32(pbz_message* message,
                                             uint32_t number,
                                             const uint32_t* values,
                                             size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}
static inline void pbz_append_packed_sfixed32(pbz_message* message,
                                              uint32_t number,
                                              const int32_t* values,
                                              size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}
static inline void pbz_append_packed_fixed64(pbz_message* message,
                                             uint32_t number,
                                             const uint64_t* values,
                                             size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}
static inline void pbz_append_packed_sfixed64(pbz_message* message,
                                              uint32_t number,
                                              const int64_t* values,
                                              size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}
static inline void pbz_append_packed_float(pbz_message* message,
                                           uint32_t number,
                                           const float* values,
                                           size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}
static inline void pbz_append_packed_double(pbz_message* message,
                                            uint32_t number,
                                            const double* values,
                                            size_t count) {
  pbz_append_packed_fixed_(message, number, values, count, sizeof(*values));
}

#undef PBZ_COLD
#undef PBZ_LIKELY

#endif  // INCLUDE_PROTOZERO_C_PBZ_WRITER_H_
