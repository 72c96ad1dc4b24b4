// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FLIGHT_SOURCE_H_
#define SRC_TRACING_IPC_FLIGHT_SOURCE_H_

#include <functional>
#include <memory>
#include <string>

#include "protozero/tracing/shared_memory.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Has a file with a FlightHeader for each producer of a service. A producer is
// not trusted with the file of another one, and may make its own shorter: so
// the service does not map it.
class FlightSource {
 public:
  virtual ~FlightSource() = default;

  // Returns an object that stands for the file until the producer is gone, and
  // the file's descriptor. Returns null on failure, with the reason in |error|.
  // If the file has to make room for another producer's, a later call calls
  // |on_displaced|, which is to have the producer disconnected. May throw
  // std::bad_alloc. One thread at a time.
  virtual std::unique_ptr<SharedMemory> Take(const PeerIdentity& producer,
                                             std::function<void()> on_displaced,
                                             ScopedFd* fd,
                                             std::string* error) = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FLIGHT_SOURCE_H_
