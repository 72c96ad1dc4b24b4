// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_H_
#define INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Memory that a producer and the service share, as one of them has mapped it.
// The destructor unmaps it. The transport decides how it is created and passed
// on.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  // Aligned to SharedMemoryABI::kMinPageSize. Start and size never change: no
  // other process that has the memory may be able to truncate it. Start is null
  // if only the producer uses the memory.
  virtual uint8_t* start() const = 0;
  virtual size_t size() const = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_H_
