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

bool KernelRing::Take(uint64_t head) {
  const uint64_t size = head - tail_;
  // The kernel never writes over what has not been taken.
  if (size > size_) {
    tail_ = head;
    // Stands for them, since no record has that length.
    taken_.resize(taken_.size() + kRecordHeaderSize);
    return false;
  }
  // Rings are far below 4 GiB.
  const auto begin = static_cast<uint32_t>(tail_ & (size_ - 1));
  const size_t first = std::min(static_cast<size_t>(size), size_ - begin);
  taken_.insert(taken_.end(), data_ + begin, data_ + begin + first);
  taken_.insert(taken_.end(), data_, data_ + (size - first));
  tail_ = head;
  return size + kMaxRecordSize > size_;
}

void KernelRing::Read(size_t size, std::vector<KernelRecord>* records) {
  const size_t end = num_read_ + std::min(size, num_unread());
  while (num_read_ < end) {
    ReadRecord(records);
    while (!doubts_.empty() &&
           doubts_.front().position <= tail_ - num_unread()) {
      AddLoss(0, doubts_.front().until, records);
      doubts_.pop_front();
    }
  }
  // Each byte is moved once at most, on average.
  if (num_read_ >= num_unread()) {
    taken_.erase(taken_.begin(),
                 taken_.begin() + static_cast<ptrdiff_t>(num_read_));
    num_read_ = 0;
  }
}

void KernelRing::ReadRecord(std::vector<KernelRecord>* records) {
  const uint8_t* const bytes = taken_.data() + num_read_;
  uint16_t size = 0;
  if (num_unread() >= kRecordHeaderSize)
    memcpy(&size, bytes + kSizeOffset, sizeof(size));
  if (size < kRecordHeaderSize || size > num_unread()) {
    num_read_ = taken_.size();
    return AddLoss(1, last_time_, records);
  }
  num_read_ += size;
  KernelRecord record;
  if (!ParseKernelRecord(bytes, size, samples_, &record))
    return;
  if (record.kind == KernelRecord::Kind::kLost) {
    num_told_ += record.lost;
    return AddLoss(record.lost, record.time, records);
  }
  last_time_ = std::max(last_time_, record.time);
  records->push_back(std::move(record));
}

void KernelRing::AddUntoldLoss(uint64_t total,
                               uint64_t now,
                               std::vector<KernelRecord>* records) {
  if (total <= num_told_)
    return;
  AddLoss(total - num_told_, now, records);
  num_told_ = total;
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
