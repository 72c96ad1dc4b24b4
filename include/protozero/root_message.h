// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_ROOT_MESSAGE_H_
#define INCLUDE_PROTOZERO_ROOT_MESSAGE_H_

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/message_inline.h"
#include "protozero/message.h"
#include "protozero/message_arena.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A message that is not nested in another one, with the memory for the messages
// nested in it. Takes about 6.5 KB, untouched until messages nest, so it is
// cheap to construct on the stack and cheaper to reuse:
//
//   protozero::ScatteredStreamWriter writer(&delegate);
//   protozero::RootMessage<MyEvent> event;
//   event.Reset(&writer);
//   event.set_timestamp(now);
//   event.Finalize();
//
// Allocates nothing itself; MessageArena says when a heap block is needed.
template <typename T = Message>
class RootMessage : public T {
 public:
  // Makes a message that has no stream until Reset().
  RootMessage() { internal::MessageRuntime::InitUnattached(this); }
  // Begins a message on |writer|, as Reset() does.
  explicit RootMessage(ScatteredStreamWriter* writer)
      : RootMessage(writer, size_hint_.Load()) {}

  // Ends a message that was not finalized as it stands: does not write the
  // sizes of nested messages that are still open.
  ~RootMessage() {
    internal::MessageInline::Abandon(this);
    arena_.SaveHint(&size_hint_);
  }

  RootMessage(const RootMessage&) = delete;
  RootMessage& operator=(const RootMessage&) = delete;

  // Begins a new message on |writer|. See Message::Reset().
  PROTOZERO_ALWAYS_INLINE void Reset(ScatteredStreamWriter* writer) {
    internal::MessageInline::ResetRoot(this, writer, &arena_);
  }

  // Combines writer->Reset(range) and Reset(writer), in less time. It is for
  // messages that each have a buffer of their own.
  PROTOZERO_ALWAYS_INLINE void Reset(ScatteredStreamWriter* writer,
                                     ContiguousMemoryRange range) {
    internal::MessageInline::ResetRootIn(this, writer, range, &arena_);
  }

 private:
  template <typename U>
  friend class HeapBuffered;
  template <typename U>
  friend class StaticBuffered;

  RootMessage(ScatteredStreamWriter* writer, MessageArena::SizeHint hint)
      : arena_(hint) {
    Message::Reset(writer, &arena_);
  }

  // The two parts of Reset() where no slow path is needed.
  PROTOZERO_ALWAYS_INLINE bool MayResetAtOnce(
      const ScatteredStreamWriter* writer,
      ContiguousMemoryRange range) const {
    return internal::MessageInline::MayResetRootAtOnce(this, writer, range,
                                                       &arena_);
  }
  PROTOZERO_ALWAYS_INLINE void ResetAtOnce(ScatteredStreamWriter* writer,
                                           ContiguousMemoryRange range) {
    internal::MessageInline::ResetRootAtOnce(this, writer, range);
  }

  // The hint for all messages of this type, which tend to be alike.
  static inline MessageArena::SharedSizeHint size_hint_;

  MessageArena arena_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_ROOT_MESSAGE_H_
