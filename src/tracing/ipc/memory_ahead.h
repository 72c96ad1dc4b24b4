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
// memory, up to SharedMemoryABI::kFrontSize and 1 MiB for all threads. Writers
// come back to that memory after each commit. The memory that only a burst has
// needed is given back to the kernel.
//
// Providing needs Linux 5.14. Before that, threads wait for the kernel
// themselves.
class MemoryAhead {
 public:
  // Provides the first memory. REQUIRES: both outlive this. May throw
  // std::bad_alloc.
  MemoryAhead(const SharedMemoryFile* memory, SharedMemoryArbiter* arbiter);

  // Provides the memory in front of the writers. Returns true if the writers
  // move through new memory, or if one has come: then it is to be called again
  // soon.
  bool Provide();
  // Gives back free memory after what writers have used since the call before
  // the last one. To be called about once a second while writers write. Returns
  // true if there may be more later.
  bool GiveBack();

 private:
  static constexpr size_t kBlockSize = 64 * 1024;
  static constexpr size_t kBlocksAhead = 16;

  // The most pages that a call gives back, each by two system calls.
  static constexpr size_t kMaxPagesToGiveBack = 1024;

  size_t page_size() const;
  // Gives the memory of a page back. Returns false if the page is in use, or if
  // the kernel cannot.
  bool GiveBackPage(size_t page);
  // Provides the memory from |offset| on. Returns whether some of it is new.
  bool ProvideFrom(size_t offset);

  const SharedMemoryFile* const memory_;
  SharedMemoryArbiter* const arbiter_;
  // True for each block that has been provided.
  std::vector<bool> is_provided_;
  size_t num_writers_ = 0;
  // The pages from the first one on that have memory, or that may have.
  size_t pages_with_memory_ = 0;
  // The pages that writers used before the last GiveBack().
  size_t pages_used_before_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_MEMORY_AHEAD_H_
