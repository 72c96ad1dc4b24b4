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
    is_new |= ProvideFrom(page * page_size());
  });
  is_new |= num_writers > num_writers_;
  num_writers_ = num_writers;
  return is_new;
}

bool MemoryAhead::GiveBack() {
  constexpr size_t kSizeToKeep =
      SharedMemoryABI::kFrontSize + kBlocksAhead * kBlockSize;
  const size_t used = arbiter_->TakeCommittedPages();
  const size_t pages_to_keep =
      std::max({used, pages_used_before_, kSizeToKeep / page_size()});
  const bool is_quiet = used == 0 && pages_used_before_ == 0;
  pages_used_before_ = used;
  pages_with_memory_ = std::min(std::max(pages_with_memory_, used),
                                arbiter_->shmem_abi().num_pages());
  size_t given_back = 0;
  while (pages_with_memory_ > pages_to_keep &&
         given_back < kMaxPagesToGiveBack &&
         GiveBackPage(pages_with_memory_ - 1)) {
    --pages_with_memory_;
    ++given_back;
  }
  if (given_back != 0) {
    const size_t first = pages_with_memory_ * page_size() / kBlockSize;
    std::fill(is_provided_.begin() + static_cast<ptrdiff_t>(first),
              is_provided_.end(), false);
  }
  // If a page is in use and writers do nothing, there is nothing to wait for.
  return pages_with_memory_ > kSizeToKeep / page_size() &&
         (given_back != 0 || !is_quiet);
}

bool MemoryAhead::GiveBackPage(size_t page) {
  const SharedMemoryABI& abi = arbiter_->shmem_abi();
  constexpr size_t kKernelPage = SharedMemoryABI::kMinPageSize;
  const size_t offset = page * page_size();
  if (!abi.TryAcquirePage(page).is_valid())
    return false;
  // The word goes last: when it is zero, a writer may take the page, and what
  // it writes must stay.
  const size_t rest = page_size() - kKernelPage;
  if ((rest == 0 || memory_->GiveBack(offset + kKernelPage, rest)) &&
      memory_->GiveBack(offset, kKernelPage)) {
    return true;
  }
  abi.ReturnPage(page);
  return false;
}

size_t MemoryAhead::page_size() const {
  return arbiter_->shmem_abi().page_size();
}

bool MemoryAhead::ProvideFrom(size_t offset) {
  bool is_new = false;
  size_t block = offset / kBlockSize;
  for (size_t i = std::min(kBlocksAhead, is_provided_.size()); i > 0; --i) {
    if (!is_provided_[block]) {
      is_provided_[block] = is_new = true;
      memory_->Provide(block * kBlockSize, kBlockSize);
      pages_with_memory_ =
          std::max(pages_with_memory_, (block + 1) * kBlockSize / page_size());
    }
    block = block + 1 < is_provided_.size() ? block + 1 : 0;
  }
  return is_new;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
