// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_PBZ_STREAM_H_
#define INCLUDE_PROTOZERO_C_PBZ_STREAM_H_

#include <stddef.h>
#include <stdint.h>

// The objects of "pbz_writer.h", and the delegate that users write.

// The reason why a stream stopped taking bytes.
typedef enum pbz_status {
  PBZ_OK = 0,
  // The delegate had no chunk left, or one that is too small to be of use.
  PBZ_OUT_OF_BUFFER = 1,
  // A field, such as a nested message, is larger than 268,435,455 bytes; or a
  // root message or a group is larger than 2 GiB.
  PBZ_MESSAGE_TOO_LONG = 2,
  // A message was written to while its child was open, after its end, or while
  // a delegate was asked for a chunk; or it ended before its child, or began on
  // a writer with an open message.
  PBZ_WRONG_NESTING = 3,
  // A field number is not 1 to 536,870,911.
  PBZ_BAD_FIELD_NUMBER = 4,
  // The delegate returned a chunk that ends before it begins.
  PBZ_INVALID_BUFFER = 5
} pbz_status;

// The number of bytes that a delegate may be asked to write later, for a size.
enum { PBZ_PATCH_SIZE = 4 };

// A piece of memory to write to. Without memory, both are null.
typedef struct pbz_chunk {
  uint8_t* begin;
  uint8_t* end;
} pbz_chunk;

// The supplier of chunks. It outlives its writers.
typedef struct pbz_delegate {
  // Called for the first byte, and when the current chunk is full or
  // PBZ_PATCH_SIZE contiguous bytes no longer fit it. |used| bytes of the chunk
  // that is being left belong to the stream. Returns the next chunk, of at
  // least PBZ_PATCH_SIZE bytes, or an empty one if there is none. Must not
  // write to the writer.
  pbz_chunk (*next_chunk)(void* context, size_t used);
  // May be null: then chunks must stay writable until the root message ends,
  // and sizes are written there. Otherwise called before next_chunk() for each
  // open message whose size is in the chunk being left, innermost first:
  // |patch| points to PBZ_PATCH_SIZE zero bytes. Returns the address to which
  // the size is written when it is known: |patch|, as many zero bytes
  // elsewhere, or null if the size is not needed. The first byte is not zero
  // once the size is there.
  uint8_t* (*annotate_patch)(void* context, uint8_t* patch);
  // An argument of both functions.
  void* context;
} pbz_delegate;

// A stream of bytes. Users read only |status|, by pbz_writer_status().
typedef struct pbz_writer {
  const pbz_delegate* delegate;
  // The current chunk, and the cursor while no message is open.
  uint8_t* begin;
  uint8_t* end;
  uint8_t* pos;
  // The address below which 16 bytes can be written.
  uintptr_t fast_limit;
  // The number of bytes in earlier chunks.
  uint64_t written_previously;
  pbz_status status;
} pbz_writer;

// A message that is open. Its members are for the functions that write it.
typedef struct pbz_message {
  // The cursor if this is the leaf, otherwise the last address.
  uint8_t* pos;
  // The address below which 16 bytes can be written, and three more for each
  // open message that is narrow.
  uintptr_t fast_limit;
  pbz_writer* writer;
  // The parent; null for a root message.
  struct pbz_message* parent;
  // The address for the size. Null if it is not written.
  uint8_t* size_field;
  // The position of the first byte in the stream. Not set while the message is
  // narrow.
  uint64_t start;
  // PBZ_NARROW_ and so on.
  uint32_t kind;
  // The end tag of a group.
  uint32_t end_tag;
} pbz_message;

// The kinds of messages.
enum {
  PBZ_ROOT_ = 0,
  PBZ_GROUP_ = 1,
  // Four bytes are reserved for the size.
  PBZ_WIDE_ = 2,
  // One byte is reserved for the size, right in front of the message, which
  // lies in the current chunk. No message inside a narrow one is wide.
  PBZ_NARROW_ = 3
};

#endif  // INCLUDE_PROTOZERO_C_PBZ_STREAM_H_
