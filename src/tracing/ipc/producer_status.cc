// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/producer_status.h"

#include <errno.h>
#include <string.h>

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

std::string ProducerStatus::WhyOff(OffReason reason,
                                   const std::string& socket) const {
  const std::string detail = off_detail_;
  switch (reason) {
    case OffReason::kNone:
      return std::string();
    case OffReason::kConnecting:
      return "not connected yet" + (socket.empty() ? "" : " to " + socket);
    case OffReason::kNoService:
      return "cannot connect to " + socket + ": " + detail;
    case OffReason::kNotTrusted:
      return detail;
    case OffReason::kRefused:
      return "the service at " + socket + " has refused this program";
    case OffReason::kConnectionLost:
      return "the connection to " + socket + " is lost";
    case OffReason::kNoSharedMemory:
      return "no shared memory for traces: " + detail;
    case OffReason::kOutOfMemory:
      return kOutOfMemory;
    case OffReason::kTimedOut:
      return "the service at " + socket + " has not answered in time";
    case OffReason::kNoDescriptors:
      return "no file descriptors: " + detail;
    case OffReason::kNoThread:
      return "cannot start a thread: " + detail;
    case OffReason::kTooManySessions:
      return "too many sessions at a time";
    case OffReason::kDescriptorTaken:
      return "this program has closed or replaced a file descriptor of tracing";
    case OffReason::kForked:
      return "this is a child process, which needs a producer of its own";
  }
  return std::string();
}

void ProducerStatus::SetOff(OffReason reason, std::string_view detail) {
  off_reason_ = reason;
  const size_t size = std::min(detail.size(), sizeof(off_detail_) - 1);
  // A program may print it to a terminal, and a service may have written it.
  std::transform(detail.data(), detail.data() + size, off_detail_,
                 [](char c) { return c < ' ' || c > '~' ? '?' : c; });
  off_detail_[size] = '\0';
}

void ProducerStatus::SetConnectFailed(int error) {
  SetOff(error == EMFILE || error == ENFILE    ? OffReason::kNoDescriptors
         : error == ENOMEM || error == ENOBUFS ? OffReason::kOutOfMemory
                                               : OffReason::kNoService,
         strerror(error));
}

void ProducerStatus::SetConnected() {
  state_ = State::kConnected;
  // If memory was lacking in the connection before, that stays the reason until
  // there is some.
  if (!lacks_shared_memory_)
    SetOff(OffReason::kNone);
  lacks_shared_memory_ = false;
}

void ProducerStatus::SetNoSharedMemory(OffReason reason,
                                       std::string_view detail) {
  lacks_shared_memory_ = true;
  SetOff(reason, detail);
}

void ProducerStatus::SetHasSharedMemory() {
  lacks_shared_memory_ = false;
  SetOff(OffReason::kNone);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
