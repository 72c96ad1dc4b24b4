// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_RING_H_
#define SRC_TRACING_SCHEDULING_KERNEL_RING_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "src/tracing/scheduling/kernel_record.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Reads the records of one ring. Bytes are where positions say, modulo the
// ring's size; both positions only grow.
//
//   |      | record | record | rec        ...                   ord |
//          ^ tail                 ^ head
//
// A record may go on at the ring's beginning. When a length makes no sense, the
// rest of what is there is given up, and counts as one lost record.
class KernelRing {
 public:
  // REQUIRES: |size| is a power of two; the bytes and |samples| outlive this.
  KernelRing(const uint8_t* data, size_t size, const KernelSamples& samples)
      : data_(data), size_(size), samples_(samples) {}

  // Appends the records up to |head|, without those that are of no use. A
  // kLost record has the time of the last record before the gap.
  void Read(uint64_t head, std::vector<KernelRecord>* records);

  // Returns whether the ring had so little room that the kernel may have lost
  // records after the last one that was read. It says so with the next record.
  bool was_full() const { return was_full_; }
  // Appends a loss of no records, if any were lost by the time |now|: the
  // states of threads are not known meanwhile. Call it when the kernel has room
  // again.
  void AddDoubt(uint64_t now, std::vector<KernelRecord>* records);

  // Appends a loss if the kernel has lost |total| records by the time |now|,
  // and has not said so in the ring: it does that with the next record, if
  // there is one.
  void AddUntoldLoss(uint64_t total,
                     uint64_t now,
                     std::vector<KernelRecord>* records);

  // Returns the position up to which the ring was read.
  uint64_t tail() const { return tail_; }
  // Returns how many records were lost, or could not be read.
  uint64_t num_lost() const { return num_lost_; }

 private:
  // Copies bytes from the position |from|.
  void Copy(uint64_t from, size_t size, uint8_t* to) const;
  void AddLoss(uint64_t number,
               uint64_t until,
               std::vector<KernelRecord>* records);

  const uint8_t* const data_;
  const size_t size_;
  const KernelSamples& samples_;
  uint64_t tail_ = 0;
  // The time of the last record.
  uint64_t last_time_ = 0;
  bool was_full_ = false;
  uint64_t num_lost_ = 0;
  // The part of |num_lost_| that the kernel has told.
  uint64_t num_told_ = 0;
  std::vector<uint8_t> copy_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_RING_H_
