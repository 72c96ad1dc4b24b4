// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_RING_H_
#define SRC_TRACING_SCHEDULING_KERNEL_RING_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
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
//
// Take() copies the bytes, which is quick, so that the kernel has room again.
// Read() makes records of them.
class KernelRing {
 public:
  // REQUIRES: |size| is a power of two; the bytes and |samples| outlive this.
  KernelRing(const uint8_t* data, size_t size, const KernelSamples& samples)
      : data_(data), size_(size), samples_(samples) {}

  // Takes the bytes up to |head|. Returns true if the ring had so little room
  // that the kernel may have lost records after them. It says so with the next
  // record.
  bool Take(uint64_t head);
  // Says that the kernel had room again at the time |now|, if Take() has
  // returned true. Then Read() adds a loss of no records: the states of threads
  // are not known meanwhile.
  void AddDoubt(uint64_t now) { doubts_.push_back({tail_, now}); }
  // Appends the records of |size| of the taken bytes, or up to the end of the
  // record there, without those that are of no use. A kLost record has the time
  // of the last record before the gap.
  void Read(size_t size, std::vector<KernelRecord>* records);

  // Appends a loss if the kernel has lost |total| records by the time |now|,
  // and has not said so in the ring: it does that with the next record, if
  // there is one.
  void AddUntoldLoss(uint64_t total,
                     uint64_t now,
                     std::vector<KernelRecord>* records);

  // Returns the position up to which bytes were taken, and how many of them
  // Read() has not read.
  uint64_t tail() const { return tail_; }
  size_t num_unread() const { return taken_.size() - num_read_; }
  // Returns how many records were lost, or could not be read.
  uint64_t num_lost() const { return num_lost_; }

 private:
  // The position after which records may be missing.
  struct Doubt {
    uint64_t position;
    uint64_t until;
  };

  void ReadRecord(std::vector<KernelRecord>* records);
  void AddLoss(uint64_t number,
               uint64_t until,
               std::vector<KernelRecord>* records);

  const uint8_t* const data_;
  const size_t size_;
  const KernelSamples& samples_;
  uint64_t tail_ = 0;
  // The time of the last record.
  uint64_t last_time_ = 0;
  uint64_t num_lost_ = 0;
  // The part of |num_lost_| that the kernel has told.
  uint64_t num_told_ = 0;
  // The bytes before |tail_|, and the number of those that were read.
  std::vector<uint8_t> taken_;
  size_t num_read_ = 0;
  std::deque<Doubt> doubts_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_RING_H_
