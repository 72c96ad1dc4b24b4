// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_RUNTIME_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class Message;
class MessageArena;
class ScatteredStreamWriter;

namespace internal {

// A child that has begun, and its cursor. The caller stores the cursor in the
// child, and so has it in a register for the child's first field.
struct BegunChild {
  Message* child;
  uint8_t* write_ptr;
};

// The functions of the library that inline code calls, and no others. They work
// for any value, with or without room in the chunk.
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
  // Returns the cursor.
  PROTOZERO_NOINLINE static uint8_t* AppendBytesSlowPath(Message* message,
                                                         EncodedTag tag,
                                                         const void* src,
                                                         size_t size) noexcept;
  // See internal::AppendBytesHeader().
  PROTOZERO_NOINLINE static bool AppendBytesHeader(Message* message,
                                                   EncodedTag tag,
                                                   uint64_t size) noexcept;

  static Message* BeginNested(Message* parent, EncodedTag tag) noexcept;
  // Begins a child if another child is open (so for every child of a parent but
  // the first), if there is no room, or if the arena expects a long child.
  PROTOZERO_NOINLINE static BegunChild BeginNestedSlowPath(
      Message* parent,
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

  // Returns the number for a new use of a message; zero if the library was
  // built without debug checks, however its users were built.
  static uint16_t NextEpoch() noexcept;
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
