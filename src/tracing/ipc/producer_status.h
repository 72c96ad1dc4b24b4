// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_STATUS_H_
#define SRC_TRACING_IPC_PRODUCER_STATUS_H_

#include <stdint.h>

#include <string>
#include <string_view>

#include "protozero/tracing/producer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A text so short that a std::string of it does not allocate.
inline constexpr char kOutOfMemory[] = "out of memory";

// The public status of one connection of a Producer: its state, and the reason
// why it is off. Guarded by ClientLock().
class ProducerStatus {
 public:
  using State = Producer::State;
  using OffReason = Producer::OffReason;

  State state() const { return state_; }
  void set_state(State state) { state_ = state; }
  OffReason off_reason() const {
    return off_reason_ == OffReason::kNone && refuses_sessions()
               ? OffReason::kTooManySessions
               : off_reason_;
  }
  // Returns whether, in this connection, a session wanted something and there
  // was no shared memory.
  bool lacks_shared_memory() const { return lacks_shared_memory_; }
  // Returns whether a data source has refused sessions that still exist.
  bool refuses_sessions() const { return refused_sessions_ != 0; }

  // Returns a text for people. |reason| is off_reason(), or a reason that comes
  // before it.
  std::string WhyOff(OffReason reason, const std::string& socket) const;

  // Sets the reason. |detail| may have any bytes. Does not allocate.
  void SetOff(OffReason reason, std::string_view detail = {});
  // Sets the reason. |error| is the errno of the attempt to connect.
  void SetConnectFailed(int error);
  void SetConnected();
  void SetNoSharedMemory(OffReason reason, std::string_view detail);
  void SetHasSharedMemory();
  void AddRefusedSession() { ++refused_sessions_; }
  void RemoveRefusedSession() { --refused_sessions_; }

 private:
  State state_ = State::kConnecting;
  bool lacks_shared_memory_ = false;
  uint32_t refused_sessions_ = 0;
  OffReason off_reason_ = OffReason::kConnecting;
  // This is not a std::string: to report that there is no memory must not
  // allocate.
  char off_detail_[256] = "";
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_STATUS_H_
