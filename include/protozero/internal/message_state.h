// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STATE_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STATE_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

// The state machine of a message.
//
//   state        its flags              what it is
//   unattached   finalized              never reset: takes no fields
//   root         root, no size          a root message without a size field
//   sized root   root                   a root message with a size field
//   narrow       narrow                 a child, one byte is kept for its size
//   wide         wide                   a child, four bytes are kept right in
//                                       front of it
//   placed       (none)                 a child with its size field anywhere
//   unsized      no size                a child whose size is not written
//   group        group, no size         a child between two tags
//   sealed       finalized (and group)  ended: takes no fields
//   dropping     finalized, drops       stands in for a child that cannot
//                                       begin
//
// Root messages:
//
//   unattached --Reset()--> root --seal, close--> sealed --Reset()--> root
//                           |  ^
//        set_size_field(p)  v  |  set_size_field(null)
//                        sized root --seal, close--> sealed
//
// Children:
//
//   begins short         --> narrow --widen--> wide --move to p--> placed
//   begins long          --> wide                `--move to null--> unsized
//   begins in any room   --> placed
//   begins as a group    --> group
//   cannot begin         --> dropping, until its slot begins another child
//
//   narrow, wide, placed, unsized, group --seal, close--> sealed
//
//   widen   the child grows beyond kMaxNarrowSize, or its chunk gets full; or a
//           raw write, set_size_field() or an accessor asks for four bytes
//   move    set_size_field(), or AnnotatePatch() when the chunk is left; from
//           wide, placed or unsized
//   seal    Finalize() of the message or of one around it; for a child, also a
//           write to its parent, or another child of its parent
//   close   another root message begins on the stream; the root message or the
//           writer is destroyed; the child is rolled back
//
// kCrossedChunk may be set in addition in every open state: all open messages
// get it when the chunk is left, the leaf when the stream fails. A root message
// loses it if it begins again after raw bytes, before its first field.

namespace protozero {
PROTOZERO_ABI_BEGIN

class Message;

namespace internal {

// The state of a message: eight bytes, so that one store begins a message and
// one store seals it.
struct MessageState {
  enum Flags : uint8_t {
    // No flag: a child whose size field is at Message::size_field_, and may be
    // anywhere.
    kNested = 0,
    // Takes no more fields: sealed, closed, or not begun yet.
    kFinalized = 1 << 0,
    // The stream has left a chunk since the message began; or the stream has
    // failed, and the message is the leaf.
    kCrossedChunk = 1 << 1,
    // Stands in for a message that could not begin. Implies kFinalized.
    kDropsFields = 1 << 2,
    // One byte is reserved for the size, right in front of the message. Then
    // the message is whole within the current chunk, the stream has not failed,
    // and the writer has not taken the cursor.
    kNarrow = 1 << 3,
    // The message has no parent.
    kRoot = 1 << 4,
    // The message stands between two tags and has no size. Stays when the group
    // is sealed: its parent writes the end tag.
    kGroup = 1 << 5,
    // Four bytes are reserved for the size, right in front of the message, and
    // the size field has not been moved elsewhere. The message is whole within
    // the current chunk if there is no other flag.
    kWide = 1 << 6,
    // The size is not written: size_field_ is not set.
    kNoSize = 1 << 7,

    kRootWithoutSize = kRoot | kNoSize,
  };

  // The flags of a root message, kept where children have their |tag_size|.
  enum RootFlags : uint8_t {
    // It may count bytes that were written to the stream directly.
    kHasRawBytes = 1 << 0,
    // A message of its tree is frozen: ScatteredStreamWriter::frozen_ is set.
    kHasFrozen = 1 << 1,
    // A message of its tree is in quarantine: see MessageArena.
    kHasQuarantined = 1 << 2,
  };

  uint8_t flags;
  // In a child: the size of the tag that precedes its size field in the current
  // chunk; 0 if the tag is not, or not whole, in this chunk. In a root message:
  // RootFlags.
  uint8_t tag_size;
  // The number of this use of the object, which tells it from earlier ones.
  // Zero unless the library has debug checks.
  uint16_t epoch;
  // The number of the message's bytes in earlier chunks; once it is sealed, of
  // all its bytes.
  uint32_t size;
};

static_assert(sizeof(MessageState) == sizeof(uint64_t), "one store");

// Returns the number for a new use of a message; zero if the library was built
// without debug checks, however its users were built.
PROTOZERO_COLD PROTOZERO_EXPORT uint16_t NextEpoch() noexcept;

// A child that has begun, and its cursor. The caller stores the cursor in the
// child, and so has it in a register for the child's first field.
struct BegunChild {
  Message* child;
  uint8_t* write_ptr;
};

// Two values of a cursor that are no address. Both are past every limit, so
// that the test for room fails. They stay past it when nearly 2 GB (with 32-bit
// addresses, the size of a short copy) are added to them.
//
// Lent: a message has lent the cursor to its child, or a writer to the leaf.
// One instruction stores this constant.
inline uint8_t* LentCursor() {
  return reinterpret_cast<uint8_t*>(
      sizeof(uintptr_t) >= sizeof(uint64_t)
          ? static_cast<uintptr_t>(intptr_t{INT32_MIN})
          : UINTPTR_MAX - 0xff);
}
// Returned: a leaf has given the cursor back to the writer.
inline uint8_t* ReturnedCursor() {
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(LentCursor()) +
                                    1);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STATE_H_
