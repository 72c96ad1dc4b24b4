// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/packet_ledger.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

namespace {

// Returns how many packets the writer has given up since an earlier copy had
// |num_known|. Only a complete chunk tells.
uint64_t NumGivenUp(uint64_t num_begun, bool is_complete, uint64_t num_known) {
  return is_complete ? num_known - std::min(num_known, num_begun) : 0;
}

}  // namespace

void PacketSums::Add(const PacketSums& other) {
  written += other.written;
  PacketLosses::Increase(&begun, other.begun);
  received += other.received;
  lost.Add(other.lost);
}

void PacketSums::Forget(PacketLosses* lost,
                        uint64_t* written,
                        uint64_t* begun) {
  uint64_t& overwritten =
      lost->packets[static_cast<size_t>(LossReason::kOverwritten)];
  *written -= overwritten;
  *begun -= std::min(*begun, overwritten);
  overwritten = 0;
  // The bytes of a reason are not known.
  if (lost->total() == 0)
    lost->bytes = 0;
}

ChunkAccount PacketLedger::Store(uint64_t num_begun, uint64_t settled) {
  written_ += num_begun - settled;
  return {num_begun, settled, 0};
}

GoneAccount PacketLedger::LoseChunk(uint64_t num_begun,
                                    uint64_t settled,
                                    LossReason reason,
                                    size_t bytes) {
  lost_.Add(reason, 0, bytes);
  return {num_begun, LoseNew(num_begun, settled, reason), reason};
}

uint64_t PacketLedger::TakeBack(const ChunkAccount& earlier,
                                uint64_t num_begun) {
  FindAgain(earlier.refused, LossReason::kDiscarded);
  written_ += earlier.num_made();
  written_ -= earlier.num_left();
  return std::min(earlier.settled, num_begun);
}

uint64_t PacketLedger::TakeBack(const GoneAccount& earlier,
                                uint64_t num_begun) {
  FindAgain(earlier.lost, earlier.reason);
  return std::min(earlier.begun - earlier.lost, num_begun);
}

void PacketLedger::Refuse(uint64_t num_begun,
                          bool is_complete,
                          ChunkAccount* earlier) {
  earlier->refused += LoseNew(num_begun, earlier->begun + earlier->refused,
                              LossReason::kDiscarded);
  uint64_t given_up =
      NumGivenUp(num_begun, is_complete, earlier->begun + earlier->refused);
  const uint64_t refused = std::min(given_up, earlier->refused);
  FindAgain(refused, LossReason::kDiscarded);
  earlier->refused -= refused;
  given_up = std::min(given_up - refused, earlier->num_left());
  written_ -= given_up;
  earlier->begun -= given_up;
}

void PacketLedger::Update(uint64_t num_begun,
                          bool is_complete,
                          GoneAccount* earlier) {
  const uint64_t num_new = LoseNew(num_begun, earlier->begun, earlier->reason);
  earlier->begun += num_new;
  earlier->lost += num_new;
  const uint64_t given_up = std::min(
      NumGivenUp(num_begun, is_complete, earlier->begun), earlier->lost);
  FindAgain(given_up, earlier->reason);
  earlier->begun -= given_up;
  earlier->lost -= given_up;
}

GoneAccount PacketLedger::Close(const ChunkAccount& chunk,
                                LossReason reason,
                                size_t bytes) {
  written_ += chunk.num_made();
  lost_.Add(reason, chunk.num_left(), bytes);
  return {chunk.begun + chunk.refused, chunk.num_left() + chunk.refused,
          reason};
}

void PacketLedger::Report(const CommitDataRequest::WriterLosses& losses) {
  reported_.Add(losses.reason, losses.packets, losses.bytes);
  PacketLosses::Increase(&reported_begun_[static_cast<size_t>(losses.reason)],
                         losses.begun);
}

PacketSums PacketLedger::Sums() const {
  PacketSums sums = {written_, written_, received_, lost_};
  for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
    const LossReason reason = static_cast<LossReason>(i);
    const uint64_t begun = std::min(reported_begun_[i], reported_.packets[i]);
    const uint64_t begun_in_no_chunk = reported_.packets[i] - begun;
    sums.lost.Add(reason, begun_in_no_chunk);
    PacketLosses::Increase(&sums.begun, begun_in_no_chunk);
    uint64_t left = begun;
    for (const LossReason torn :
         {LossReason::kUnknown, LossReason::kIncomplete}) {
      uint64_t* const num_torn = &sums.lost.packets[static_cast<size_t>(torn)];
      const uint64_t moved = std::min(left, *num_torn);
      *num_torn -= moved;
      sums.lost.Add(reason, moved);
      left -= moved;
    }
  }
  PacketLosses::Increase(&sums.lost.bytes, reported_.bytes);
  return sums;
}

uint64_t PacketLedger::LoseNew(uint64_t num_begun,
                               uint64_t num_known,
                               LossReason reason) {
  const uint64_t num_new = num_begun - std::min(num_begun, num_known);
  written_ += num_new;
  lost_.Add(reason, num_new);
  return num_new;
}

void PacketLedger::FindAgain(uint64_t num_lost, LossReason reason) {
  written_ -= num_lost;
  lost_.packets[static_cast<size_t>(reason)] -= num_lost;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
