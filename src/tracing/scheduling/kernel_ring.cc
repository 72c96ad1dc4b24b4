// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_ring.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The header of a record: type u32, misc u16, and the size u16 of all of it.
constexpr size_t kRecordHeaderSize = 8;
constexpr size_t kSizeOffset = 6;
// More than a record takes: a path, or the deepest stack.
constexpr size_t kMaxRecordSize = 16 * 1024;

}  // namespace

void KernelRing::Read(uint64_t head, std::vector<KernelRecord>* records) {
  was_full_ = head - tail_ + kMaxRecordSize > size_;
  // The kernel never writes over what has not been read.
  if (head - tail_ > size_) {
    tail_ = head;
    return AddLoss(1, last_time_, records);
  }
  while (tail_ != head) {
    uint8_t header[kRecordHeaderSize] = {};
    uint16_t size = 0;
    if (head - tail_ >= sizeof(header)) {
      Copy(tail_, sizeof(header), header);
      memcpy(&size, header + kSizeOffset, sizeof(size));
    }
    if (size < sizeof(header) || size > head - tail_) {
      tail_ = head;
      return AddLoss(1, last_time_, records);
    }
    copy_.resize(size);
    Copy(tail_, size, copy_.data());
    tail_ += size;
    KernelRecord record;
    if (!ParseKernelRecord(copy_.data(), size, samples_, &record))
      continue;
    if (record.kind == KernelRecord::Kind::kLost) {
      num_told_ += record.lost;
      AddLoss(record.lost, record.time, records);
      continue;
    }
    last_time_ = std::max(last_time_, record.time);
    records->push_back(std::move(record));
  }
}

void KernelRing::AddDoubt(uint64_t now, std::vector<KernelRecord>* records) {
  if (was_full_)
    AddLoss(0, now, records);
}

void KernelRing::AddUntoldLoss(uint64_t total,
                               uint64_t now,
                               std::vector<KernelRecord>* records) {
  if (total <= num_told_)
    return;
  AddLoss(total - num_told_, now, records);
  num_told_ = total;
}

void KernelRing::Copy(uint64_t from, size_t size, uint8_t* to) const {
  // Rings are far below 4 GiB.
  const auto begin = static_cast<uint32_t>(from & (size_ - 1));
  const size_t first = std::min(size, size_ - begin);
  memcpy(to, data_ + begin, first);
  memcpy(to + first, data_, size - first);
}

void KernelRing::AddLoss(uint64_t number,
                         uint64_t until,
                         std::vector<KernelRecord>* records) {
  num_lost_ += number;
  KernelRecord record;
  record.kind = KernelRecord::Kind::kLost;
  record.time = last_time_;
  record.lost = number;
  record.lost_until = std::max(until, last_time_);
  last_time_ = record.lost_until;
  records->push_back(std::move(record));
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
