// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/memory_ahead.h"

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

MemoryAhead::MemoryAhead(const SharedMemoryFile* memory,
                         SharedMemoryArbiter* arbiter)
    : memory_(memory),
      arbiter_(arbiter),
      is_provided_((memory->size() + kBlockSize - 1) / kBlockSize) {
  ProvideFrom(0);
}

bool MemoryAhead::Provide() {
  bool is_new = false;
  size_t num_writers = 0;
  arbiter_->VisitNextPages([&](size_t page) {
    ++num_writers;
    is_new |= ProvideFrom(page * arbiter_->shmem_abi().page_size());
  });
  is_new |= num_writers > num_writers_;
  num_writers_ = num_writers;
  return is_new;
}

bool MemoryAhead::ProvideFrom(size_t offset) {
  bool is_new = false;
  size_t block = offset / kBlockSize;
  for (size_t i = std::min(kBlocksAhead, is_provided_.size()); i > 0; --i) {
    if (!is_provided_[block]) {
      is_provided_[block] = is_new = true;
      memory_->Provide(block * kBlockSize, kBlockSize);
    }
    block = block + 1 < is_provided_.size() ? block + 1 : 0;
  }
  return is_new;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
