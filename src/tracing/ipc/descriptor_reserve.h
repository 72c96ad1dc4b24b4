// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_DESCRIPTOR_RESERVE_H_
#define SRC_TRACING_IPC_DESCRIPTOR_RESERVE_H_

#include <errno.h>

#include <mutex>

#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

inline bool LacksDescriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

// A reserve of one file descriptor, which it gives up for a moment when no
// other one is left. Any thread.
class DescriptorReserve {
 public:
  DescriptorReserve() { Fill(); }

  // Calls |function()| with one more descriptor free, if this has one. Takes it
  // back afterwards, unless |function| has kept a descriptor of its own.
  template <typename Function>
  auto Use(const Function& function) {
    std::lock_guard<std::mutex> lock(lock_);
    // A descriptor may have become free again.
    Fill();
    fd_.Reset();
    auto result = function();
    Fill();
    return result;
  }

 private:
  void Fill() {
    if (!fd_.is_valid())
      fd_ = NewUnixSocket();
  }

  std::mutex lock_;
  ScopedFd fd_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_DESCRIPTOR_RESERVE_H_
