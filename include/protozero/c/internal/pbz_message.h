// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_INTERNAL_PBZ_MESSAGE_H_
#define INCLUDE_PROTOZERO_C_INTERNAL_PBZ_MESSAGE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/c/internal/pbz_encoding.h"
#include "protozero/c/pbz_stream.h"

// The parts of "pbz_writer.h": the cursor, chunks, fields, and nesting.

enum {
  // The room for a tag and any number.
  PBZ_FAST_ROOM_ = 16,
  PBZ_WIDENING_ = 3,
  // The largest size of a narrow message, so that few bytes have to be moved.
  PBZ_MAX_NARROW_SIZE_ = 512,
  PBZ_MAX_MESSAGE_SIZE_ = 268435455
};

// Returns a cursor that is no address, but past all limits.
static inline uint8_t* pbz_no_cursor_(void) {
  return (uint8_t*)UINTPTR_MAX;
}

static inline int pbz_has_room_(const pbz_message* message) {
  return PBZ_LIKELY((uintptr_t)message->pos < message->fast_limit);
}

static inline uintptr_t pbz_fast_limit_of_(const uint8_t* end) {
  return (uintptr_t)end >= PBZ_FAST_ROOM_
             ? (uintptr_t)end - (PBZ_FAST_ROOM_ - 1)
             : 0;
}

static inline uint64_t pbz_position_(const pbz_writer* writer,
                                     const uint8_t* pos) {
  return writer->written_previously + (uint64_t)(pos - writer->begin);
}

PBZ_COLD void pbz_fail_(pbz_message* message, pbz_status status) {
  pbz_writer* const writer = message->writer;
  if (writer->status == PBZ_OK)
    writer->status = status;
  writer->fast_limit = 0;
  message->fast_limit = 0;
}

// Widens the size field of one byte in front of |base|: moves the bytes from
// there to |end| down by |moved_by|. Returns the size field of four bytes that
// then stands in front of them, for the caller to write.
static inline uint8_t* pbz_widen_size_(uint8_t* base,
                                       const uint8_t* end,
                                       size_t moved_by) {
  memmove(base + moved_by, base, (size_t)(end - base));
  return base + moved_by - PBZ_PATCH_SIZE;
}

// Widens all open messages, of which |message| is the leaf. Moves each byte
// once, to make room for all size fields in front of it.
static inline void pbz_widen_(pbz_message* message) {
  pbz_writer* const writer = message->writer;
  size_t moved_by = 0;
  uint8_t* end = message->pos;
  pbz_message* narrow;
  for (narrow = message; narrow->kind == PBZ_NARROW_; narrow = narrow->parent)
    moved_by += PBZ_WIDENING_;
  message->pos += moved_by;
  for (narrow = message; narrow->kind == PBZ_NARROW_; narrow = narrow->parent) {
    uint8_t* const size_field = narrow->size_field;
    uint8_t* const base = size_field + 1;
    narrow->size_field = pbz_widen_size_(base, end, moved_by);
    pbz_store_(narrow->size_field, 0, PBZ_PATCH_SIZE);
    narrow->start = pbz_position_(writer, base + moved_by);
    narrow->kind = PBZ_WIDE_;
    moved_by -= PBZ_WIDENING_;
    end = size_field;
  }
  message->fast_limit = writer->fast_limit;
}

// Returns whether |message| takes fields. Widens the open messages.
PBZ_COLD int pbz_take_(pbz_message* message) {
  if (message->pos == pbz_no_cursor_()) {
    pbz_fail_(message, PBZ_WRONG_NESTING);
    return 0;
  }
  if (message->writer->status != PBZ_OK) {
    message->fast_limit = 0;
    return 0;
  }
  pbz_widen_(message);
  return 1;
}

// Continues in the next chunk. REQUIRES: pbz_take_().
PBZ_COLD int pbz_next_chunk_(pbz_message* message) {
  pbz_writer* const writer = message->writer;
  const pbz_delegate* const delegate = writer->delegate;
  uint8_t* const pos = message->pos;
  const size_t used = (size_t)(pos - writer->begin);
  pbz_chunk chunk;
  chunk.begin = NULL;
  chunk.end = NULL;
  // Any use of the message by the delegate is an error.
  message->pos = pbz_no_cursor_();
  if (delegate != NULL) {
    pbz_message* left;
    for (left = message; left != NULL && delegate->annotate_patch != NULL;
         left = left->parent) {
      if (left->kind != PBZ_WIDE_)
        continue;
      if (left->start < writer->written_previously + PBZ_PATCH_SIZE)
        break;
      left->size_field =
          delegate->annotate_patch(delegate->context, left->size_field);
    }
    chunk = delegate->next_chunk(delegate->context, used);
  }
  message->pos = pos;
  if (writer->status != PBZ_OK) {
    message->fast_limit = 0;
    return 0;
  }
  if ((uintptr_t)chunk.end <= (uintptr_t)chunk.begin || chunk.begin == NULL) {
    pbz_fail_(message, chunk.begin != NULL && chunk.end != chunk.begin
                           ? PBZ_INVALID_BUFFER
                           : PBZ_OUT_OF_BUFFER);
    return 0;
  }
  writer->written_previously += used;
  writer->begin = chunk.begin;
  writer->end = chunk.end;
  writer->fast_limit = pbz_fast_limit_of_(chunk.end);
  message->pos = chunk.begin;
  message->fast_limit = writer->fast_limit;
  return 1;
}

// Writes bytes over as many chunks as it takes. REQUIRES: pbz_take_().
PBZ_COLD int pbz_write_(pbz_message* message, const void* data, size_t size) {
  const uint8_t* src = (const uint8_t*)data;
  while (size != 0) {
    const size_t room = (size_t)(message->writer->end - message->pos);
    const size_t part = size < room ? size : room;
    if (part != 0) {
      memcpy(message->pos, src, part);
      message->pos += part;
      src += part;
      size -= part;
    }
    if (size != 0 && !pbz_next_chunk_(message))
      return 0;
  }
  return 1;
}

PBZ_COLD void pbz_append_raw_slow_(pbz_message* message,
                                   const void* data,
                                   size_t size) {
  if (pbz_take_(message))
    (void)pbz_write_(message, data, size);
}

PBZ_COLD void pbz_append_varint_slow_(pbz_message* message,
                                      uint32_t tag,
                                      uint64_t value) {
  uint8_t field[PBZ_FAST_ROOM_];
  const uint8_t* const end =
      pbz_put_long_varint_(pbz_put_long_varint_(field, tag), value);
  pbz_append_raw_slow_(message, field, (size_t)(end - field));
}

PBZ_COLD void pbz_append_fixed_slow_(pbz_message* message,
                                     uint32_t tag,
                                     uint64_t bits,
                                     size_t size) {
  uint8_t field[PBZ_FAST_ROOM_];
  uint8_t* const pos = pbz_put_long_varint_(field, tag);
  pbz_store_(pos, bits, size);
  pbz_append_raw_slow_(message, field, (size_t)(pos - field) + size);
}

// Appends a tag and a size; the caller then appends so many bytes.
PBZ_COLD int pbz_append_header_(pbz_message* message,
                                uint32_t tag,
                                uint64_t size) {
  uint8_t header[PBZ_FAST_ROOM_];
  const uint8_t* end;
  if (!pbz_take_(message))
    return 0;
  if (size > PBZ_MAX_MESSAGE_SIZE_) {
    pbz_fail_(message, PBZ_MESSAGE_TOO_LONG);
    return 0;
  }
  end = pbz_put_long_varint_(pbz_put_long_varint_(header, tag), size);
  return pbz_write_(message, header, (size_t)(end - header));
}

PBZ_COLD void pbz_append_bytes_slow_(pbz_message* message,
                                     uint32_t tag,
                                     const void* data,
                                     size_t size) {
  if (pbz_append_header_(message, tag, size))
    (void)pbz_write_(message, data, size);
}

static inline void pbz_append_varint_(pbz_message* message,
                                      uint32_t number,
                                      uint64_t value) {
  const uint32_t tag = pbz_tag_(number, 0);
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
  } else if (pbz_has_room_(message)) {
    message->pos = pbz_put_varint_(pbz_put_tag_(message->pos, tag), value);
  } else {
    pbz_append_varint_slow_(message, tag, value);
  }
}

// Appends a short number. REQUIRES: value < 128.
static inline void pbz_append_tiny_(pbz_message* message,
                                    uint32_t number,
                                    uint8_t value) {
  const uint32_t tag = pbz_tag_(number, 0);
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
  } else if (pbz_has_room_(message)) {
    uint8_t* const pos = pbz_put_tag_(message->pos, tag);
    *pos = value;
    message->pos = pos + 1;
  } else {
    pbz_append_varint_slow_(message, tag, value);
  }
}

static inline void pbz_append_fixed_(pbz_message* message,
                                     uint32_t number,
                                     uint64_t bits,
                                     size_t size) {
  const uint32_t tag = pbz_tag_(number, size == 8 ? 1 : 5);
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
  } else if (pbz_has_room_(message)) {
    uint8_t* const pos = pbz_put_tag_(message->pos, tag);
    pbz_store_(pos, bits, size);
    message->pos = pos + size;
  } else {
    pbz_append_fixed_slow_(message, tag, bits, size);
  }
}

static inline void pbz_stop_(pbz_message* message,
                             pbz_message* parent,
                             pbz_writer* writer) {
  message->pos = pbz_no_cursor_();
  message->fast_limit = 0;
  message->writer = writer;
  message->parent = parent;
  message->size_field = NULL;
  message->start = 0;
  message->kind = PBZ_ROOT_;
  message->end_tag = 0;
}

static inline void pbz_begin_narrow_(pbz_message* child,
                                     pbz_message* parent,
                                     uint32_t tag) {
  uint8_t* const size_field = pbz_put_tag_(parent->pos, tag);
  const uintptr_t reach =
      (uintptr_t)size_field + (PBZ_MAX_NARROW_SIZE_ - (PBZ_FAST_ROOM_ - 2) + 1);
  const uintptr_t limit = parent->fast_limit - PBZ_WIDENING_;
  child->pos = size_field + 1;
  child->fast_limit = limit < reach ? limit : reach;
  child->writer = parent->writer;
  child->parent = parent;
  child->size_field = size_field;
  child->kind = PBZ_NARROW_;
  parent->pos = pbz_no_cursor_();
}

PBZ_COLD void pbz_begin_slow_(pbz_message* child,
                              pbz_message* parent,
                              uint32_t tag,
                              uint32_t end_tag) {
  pbz_writer* const writer = parent->writer;
  uint8_t bytes[PBZ_FAST_ROOM_];
  const uint8_t* end;
  pbz_stop_(child, parent, writer);
  if (!pbz_take_(parent))
    return;
  if (end_tag == 0 && pbz_has_room_(parent)) {
    pbz_begin_narrow_(child, parent, tag);
    return;
  }
  end = pbz_put_long_varint_(bytes, tag);
  if (!pbz_write_(parent, bytes, (size_t)(end - bytes)))
    return;
  if (end_tag == 0) {
    if ((size_t)(writer->end - parent->pos) < PBZ_PATCH_SIZE &&
        !pbz_next_chunk_(parent)) {
      return;
    }
    if ((size_t)(writer->end - parent->pos) < PBZ_PATCH_SIZE) {
      pbz_fail_(parent, PBZ_OUT_OF_BUFFER);
      return;
    }
    child->size_field = parent->pos;
    pbz_store_(parent->pos, 0, PBZ_PATCH_SIZE);
    parent->pos += PBZ_PATCH_SIZE;
  }
  child->kind = end_tag == 0 ? PBZ_WIDE_ : PBZ_GROUP_;
  child->end_tag = end_tag;
  child->start = pbz_position_(writer, parent->pos);
  child->pos = parent->pos;
  child->fast_limit = writer->fast_limit;
  parent->pos = pbz_no_cursor_();
}

// Gives the cursor back to the parent.
static inline void pbz_return_cursor_(pbz_message* message, uint8_t* pos) {
  message->pos = pbz_no_cursor_();
  if (message->parent != NULL) {
    message->parent->pos = pos;
    message->parent->fast_limit = message->writer->fast_limit;
  } else {
    message->writer->pos = pos;
  }
}

// Ends a narrow message whose size takes four bytes. The messages around it
// stay narrow: room for their sizes is left.
static inline uint32_t pbz_end_widened_(pbz_message* message) {
  uint8_t* const base = message->size_field + 1;
  const size_t size = (size_t)(message->pos - base);
  pbz_put_wide_size_(pbz_widen_size_(base, message->pos, PBZ_WIDENING_),
                     (uint32_t)size);
  message->parent->pos = message->pos + PBZ_WIDENING_;
  message->pos = pbz_no_cursor_();
  return (uint32_t)size;
}

// Ends any message.
PBZ_COLD uint32_t pbz_end_slow_(pbz_message* message) {
  pbz_writer* const writer = message->writer;
  uint8_t* pos = message->pos;
  uint64_t size;
  if (pos == pbz_no_cursor_()) {
    pbz_fail_(message, PBZ_WRONG_NESTING);
    return 0;
  }
  if (message->kind == PBZ_NARROW_)
    return pbz_end_widened_(message);
  if (writer->status != PBZ_OK) {
    pbz_return_cursor_(message, pos);
    return 0;
  }
  size = pbz_position_(writer, pos) - message->start;
  if (size > (message->kind == PBZ_WIDE_ ? (uint64_t)PBZ_MAX_MESSAGE_SIZE_
                                         : (uint64_t)INT32_MAX)) {
    pbz_fail_(message, PBZ_MESSAGE_TOO_LONG);
    pbz_return_cursor_(message, pos);
    return 0;
  }
  if (message->kind == PBZ_WIDE_) {
    uint8_t* const size_field = message->size_field;
    const int in_chunk =
        message->start >= writer->written_previously + PBZ_PATCH_SIZE;
    if (in_chunk && size <= 127) {
      *size_field = (uint8_t)size;
      memmove(size_field + 1, size_field + PBZ_PATCH_SIZE, (size_t)size);
      pos -= PBZ_WIDENING_;
    } else if (size_field != NULL) {
      pbz_put_wide_size_(size_field, (uint32_t)size);
    }
  }
  pbz_return_cursor_(message, pos);
  if (message->kind == PBZ_GROUP_) {
    uint8_t bytes[PBZ_FAST_ROOM_];
    const uint8_t* const end = pbz_put_long_varint_(bytes, message->end_tag);
    pbz_append_raw_slow_(message->parent, bytes, (size_t)(end - bytes));
  }
  return (uint32_t)size;
}

#endif  // INCLUDE_PROTOZERO_C_INTERNAL_PBZ_MESSAGE_H_
