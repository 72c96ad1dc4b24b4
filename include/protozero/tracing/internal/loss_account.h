// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_LOSS_ACCOUNT_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_LOSS_ACCOUNT_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The losses of one writer, and the part of them that the service knows. The
// writer's thread adds to it. A SharedMemoryArbiter reports it with the next
// commit, on any thread. Any thread may read the sums.
class LossAccount {
 public:
  // The sums for one reason. Only one thread adds to them.
  struct Sums {
    std::atomic<uint64_t> packets{0};
    // The number of |packets| whose beginning the service knows, from a chunk
    // that was committed before they were lost.
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> bytes{0};
  };

  LossAccount(WriterID writer_id, BufferID target_buffer)
      : writer_id_(writer_id), target_buffer_(target_buffer) {}

  LossAccount(const LossAccount&) = delete;
  LossAccount& operator=(const LossAccount&) = delete;

  void Add(LossReason reason,
           uint64_t bytes,
           bool is_begun,
           uint64_t packets = 1) {
    Sums& sums = sums_[static_cast<size_t>(reason)];
    // |begun| comes first: a report that has the packet must also say that the
    // service has its beginning. Otherwise, if the program ended then, the
    // service would count the packet twice.
    Increase(&sums.begun, is_begun);
    Increase(&sums.packets, packets);
    Increase(&sums.bytes, bytes);
  }

  // Adds packets as kWriterBusy. Several signal handlers may do so at once, and
  // during Add(), which therefore never touches this sum.
  void AddWhileBusy(uint64_t packets) {
    sums_[static_cast<size_t>(LossReason::kWriterBusy)].packets.fetch_add(
        packets, std::memory_order_relaxed);
  }

  PacketLosses Get() const {
    PacketLosses losses;
    for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
      losses.Add(static_cast<LossReason>(i),
                 sums_[i].packets.load(std::memory_order_relaxed),
                 sums_[i].bytes.load(std::memory_order_relaxed));
    }
    return losses;
  }

 private:
  friend class SharedMemoryArbiter;

  static void Increase(std::atomic<uint64_t>* sum, uint64_t number) {
    if (number == 0)
      return;
    sum->store(sum->load(std::memory_order_relaxed) + number,
               std::memory_order_release);
  }

  const WriterID writer_id_;
  const BufferID target_buffer_;
  Sums sums_[kNumWriterLossReasons];
  // The part of the sums that has been reported. Only the thread that commits
  // reads and writes it.
  struct Reported {
    uint64_t packets = 0;
    uint64_t begun = 0;
    uint64_t bytes = 0;
  };
  Reported reported_[kNumWriterLossReasons];
  // True if the account is on the arbiter's list, which |next_| links.
  std::atomic<bool> is_queued_{false};
  LossAccount* next_ = nullptr;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_LOSS_ACCOUNT_H_
