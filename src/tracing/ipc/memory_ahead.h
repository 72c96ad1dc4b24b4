// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_MEMORY_AHEAD_H_
#define SRC_TRACING_IPC_MEMORY_AHEAD_H_

#include <stddef.h>

#include <vector>

#include "protozero/tracing/shared_memory_arbiter.h"
#include "src/tracing/ipc/shared_memory_file.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Has the kernel provide shared memory before threads write to it. The first
// store to 4 KiB of new memory takes 1 to 3 us, because the kernel has to find
// memory and clear it. The producer's thread has that done instead.
//
// It provides the first 1 MiB before any thread writes, and from then on 1 MiB
// in front of each writer. So a thread that traces little costs 1 MiB of
// memory, up to the size that the program shares. Once provided, the memory
// stays: writers come back to it after each commit.
//
// Needs Linux 5.14. Before that, threads wait for the kernel themselves.
class MemoryAhead {
 public:
  // Provides the first memory. REQUIRES: both outlive this. May throw
  // std::bad_alloc.
  MemoryAhead(const SharedMemoryFile* memory, SharedMemoryArbiter* arbiter);

  // Provides the memory in front of the writers. Returns true if the writers
  // move through new memory, or if one has come: then it is to be called again
  // soon.
  bool Provide();

 private:
  static constexpr size_t kBlockSize = 64 * 1024;
  static constexpr size_t kBlocksAhead = 16;

  // Provides the memory from |offset| on. Returns whether some of it is new.
  bool ProvideFrom(size_t offset);

  const SharedMemoryFile* const memory_;
  SharedMemoryArbiter* const arbiter_;
  // True for each block that has been provided.
  std::vector<bool> is_provided_;
  size_t num_writers_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_MEMORY_AHEAD_H_
