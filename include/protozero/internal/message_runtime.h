// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_RUNTIME_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/message_state.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class Message;
class MessageArena;
class ScatteredStreamWriter;

namespace internal {

// The functions of the library that inline code calls, and no others. They work
// for any value, with or without room in the chunk.
//
// The layers of messages. Each calls those below it, never one above:
//
//   Message         the functions for users
//   MessageSetter   setters: MessageInline in place, or else a call
//   MessageRuntime  the functions that setters call
//   MessageNesting  beginning and sealing, which go up and down the chain
//   OpenMessages    the chain itself: cursor, chunks, widening
//   MessageSteps    inline steps on one message
//
// The beginning of a child. Each function calls some of those below it:
//
//   Message::BeginNestedMessage()           by a field id; BeginNestedGroup()
//   MessageSetter::BeginChild()             by a tag: in place, or by a call
//   MessageRuntime::BeginByCall()           the whole beginning
//   MessageRuntime::BeginInPlaceSlowPath()  the rare rest of it
//   MessageNesting::BeginBehindSibling()    first seals an open short sibling
//   MessageNesting::BeginInAnyState()       first seals any messages
//   MessageNesting::BeginInAnyRoom()        over the chunk's end; any group
//   MessageNesting::Begin...OutOfLine()     calls of the two below
//   MessageSteps::BeginNarrow()             the usual child, if there is room
//   MessageSteps::BeginWide()               a child expected to be long
struct PROTOZERO_EXPORT MessageRuntime {
  using EncodedTag = proto_utils::internal::EncodedTag;

  PROTOZERO_NOINLINE static void AppendVarInt(Message* message,
                                              EncodedTag tag,
                                              uint64_t value) noexcept;
  // The same, for setters that are calls: extending the value's sign in the
  // function makes the call shorter.
  static void AppendInt32(Message* message,
                          EncodedTag tag,
                          int32_t value) noexcept;
  static void AppendFixed(Message* message,
                          EncodedTag tag,
                          uint32_t bits) noexcept;
  static void AppendFixed(Message* message,
                          EncodedTag tag,
                          uint64_t bits) noexcept;
  static void AppendBytes(Message* message,
                          EncodedTag tag,
                          const void* src,
                          size_t size) noexcept;
  PROTOZERO_NOINLINE static void AppendBytesSlowPath(Message* message,
                                                     EncodedTag tag,
                                                     const void* src,
                                                     size_t size) noexcept;
  PROTOZERO_COLD static void AppendBytesInAnyRoom(Message* message,
                                                  EncodedTag tag,
                                                  const void* src,
                                                  size_t size) noexcept;
  // See internal::AppendBytesHeader().
  PROTOZERO_NOINLINE static bool AppendBytesHeader(Message* message,
                                                   EncodedTag tag,
                                                   uint64_t size) noexcept;

  // Begins a child, and stores the cursor in it.
  static Message* BeginByCall(Message* parent, EncodedTag tag) noexcept;
  // Begins a child for a setter in place that cannot: another child is open (so
  // for every child of a parent but the first), or there is no room.
  static BegunChild BeginInPlaceSlowPath(Message* parent,
                                         EncodedTag tag) noexcept;
  PROTOZERO_COLD static Message* BeginGroup(Message* parent,
                                            EncodedTag tag,
                                            uint32_t end_tag) noexcept;
  // Returns a message that drops every field, the same one for all callers.
  PROTOZERO_COLD static Message* DroppingMessage() noexcept;

  PROTOZERO_NOINLINE static uint32_t Finalize(Message* message) noexcept;
  // Seals the open messages nested in |message|, then |message| itself.
  PROTOZERO_NOINLINE static uint32_t FinalizeSlowPath(
      Message* message) noexcept;
  // Seals the open messages nested in |message|, so that it is the leaf and has
  // the cursor. Returns false if it takes no more fields.
  PROTOZERO_COLD static bool TakeCursor(Message* message) noexcept;

  // Initializes a message that takes no fields before its first Reset().
  static void InitUnattached(Message* message) noexcept;
  PROTOZERO_COLD static void ResetRootSlowPath(Message* message,
                                               ScatteredStreamWriter* writer,
                                               MessageArena* arena) noexcept;
  PROTOZERO_COLD static void ResetRootInSlowPath(Message* message,
                                                 ScatteredStreamWriter* writer,
                                                 ContiguousMemoryRange range,
                                                 MessageArena* arena) noexcept;

  // Returns whether |next| or a message before it has taken the place of
  // |message| in the same parent. Returns false if the library was built
  // without debug checks.
  PROTOZERO_COLD static bool IsReplacedBy(const Message* message,
                                          const Message* next) noexcept;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_MESSAGE_RUNTIME_H_
