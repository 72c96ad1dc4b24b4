// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_HANDLE_H_
#define INCLUDE_PROTOZERO_MESSAGE_HANDLE_H_

#include <stdint.h>

#include "protozero/internal/compiler.h"
#include "protozero/internal/message_inline.h"
#include "protozero/message.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A listener that learns when a message that was handed out through a
// MessageHandle is complete. The owner of the message can publish it, or reuse
// it, from then on.
class PROTOZERO_EXPORT MessageFinalizationListener {
 public:
  PROTOZERO_COLD virtual ~MessageFinalizationListener();
  // Called once for each message, by the thread that finalizes it.
  virtual void OnMessageFinalized(Message* message) = 0;
};

// A handle that finalizes a message, which it does not own, when it goes out of
// scope. It can be moved, not copied. A handle must be gone when its message is
// reset for another use. A handle of a nested message must be gone when another
// one begins at the same depth of the same root message, which in release
// builds is the same object. If it is not gone, debug builds stop at the next
// use of the handle, the end of its scope included. Release builds finalize the
// message that is there now, which gets no more fields.
class PROTOZERO_EXPORT MessageHandleBase {
 public:
  // Inline even in code for unwinding exceptions, so that compilers need no
  // address of the handle.
  PROTOZERO_ALWAYS_INLINE ~MessageHandleBase() {
    if (message_ != nullptr)
      FinalizeMessage();
  }

  MessageHandleBase(MessageHandleBase&& other) noexcept { MoveFrom(other); }
  // Finalizes the message that the handle held, unless |other| holds the same
  // message for its next use: then the use before is over already. So one
  // handle can serve a message that is handed out again and again, or one
  // nested message after the other:
  //
  //   MessageHandle<MyEvent> packet = writer->NewTracePacket<MyEvent>();
  //   packet->set_timestamp(now);
  //   packet->Finalize();
  //   packet = writer->NewTracePacket<MyEvent>();
  MessageHandleBase& operator=(MessageHandleBase&& other) noexcept {
    if (this != &other) {
      if (message_ != nullptr && message_ != other.message_ &&
          !IsReplacedBy(other)) {
        FinalizeMessage();
      }
      MoveFrom(other);
    }
    return *this;
  }

  // Returns whether it holds a message.
  explicit operator bool() const {
    CheckNotStale();
    return message_ != nullptr;
  }

  // Sets the listener, which finalizing through this handle calls once.
  // REQUIRES: |listener| outlives the handle, or is replaced by null.
  void set_finalization_listener(MessageFinalizationListener* listener) {
    listener_ = listener;
  }

  // Lets go of the message without finalizing it and returns its stream, for
  // code that goes on writing the message's fields as raw bytes. The message
  // (or its open child) counts these bytes, even if it has no field yet; its
  // owner may still finalize it. Does not call the listener. REQUIRES: the
  // handle is not empty.
  PROTOZERO_COLD ScatteredStreamWriter* TakeStreamWriter();

 protected:
  explicit MessageHandleBase(Message* message = nullptr) : message_(message) {
    if (message_ != nullptr)
      epoch_ = internal::MessageInline::EpochOf(message_);
  }

  Message* message() const {
    CheckNotStale();
    return message_;
  }

 private:
  void CheckNotStale() const {
    PROTOZERO_DCHECK(message_ == nullptr ||
                         internal::MessageInline::EpochOf(message_) == epoch_,
                     "this handle's message was reset and belongs to somebody "
                     "else now: let go of a handle before the next message");
  }

  // Returns whether, in release builds, the message of |other| would be the
  // same object.
  bool IsReplacedBy(const MessageHandleBase& other) const {
    return PROTOZERO_DCHECK_IS_ON &&
           internal::MessageInline::EpochOf(message_) != epoch_ &&
           other.message_ != nullptr &&
           internal::MessageRuntime::IsReplacedBy(message_, other.message_);
  }

  void MoveFrom(MessageHandleBase& other) {
    message_ = other.message_;
    listener_ = other.listener_;
    epoch_ = other.epoch_;
    other.message_ = nullptr;
    other.listener_ = nullptr;
  }

  PROTOZERO_ALWAYS_INLINE void FinalizeMessage() {
    CheckNotStale();
    // Cleared first: the listener may hand the message out again.
    Message* const message = message_;
    message_ = nullptr;
    Finalize(message, listener_);
  }
  // Does not take the handle itself, so that it can remain in registers.
  static void Finalize(Message* message, MessageFinalizationListener* listener);

  Message* message_ = nullptr;
  MessageFinalizationListener* listener_ = nullptr;
  uint16_t epoch_ = 0;
};

// A handle to a message of a generated class:
//
//   {
//     MessageHandle<MyEvent> event = trace_writer->NewTracePacket<MyEvent>();
//     event->set_timestamp(now);
//   }  // Finalized here.
template <typename T>
class MessageHandle : public MessageHandleBase {
 public:
  // Makes an empty handle, or one that finalizes |message|.
  MessageHandle() : MessageHandle(nullptr) {}
  explicit MessageHandle(T* message) : MessageHandleBase(message) {}

  MessageHandle(MessageHandle&&) noexcept = default;
  MessageHandle& operator=(MessageHandle&&) noexcept = default;

  // REQUIRES: the handle is not empty.
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  // Returns null if the handle is empty.
  T* get() const { return static_cast<T*>(message()); }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_HANDLE_H_
