// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_PACKET_LEDGER_H_
#define SRC_TRACING_SERVICE_PACKET_LEDGER_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>

#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/producer_endpoint.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// The sums of a ledger, or of several. When all packets have been read, |begun|
// is |received| + lost.total().
struct PacketSums {
  void Add(const PacketSums& other);
  // Forgets the packets that were overwritten: they are no part of the trace.
  void ForgetOverwritten() { Forget(&lost, &written, &begun); }
  static void Forget(PacketLosses* lost, uint64_t* written, uint64_t* begun);

  // Packets whose beginning is in a chunk that came.
  uint64_t written = 0;
  // The same, and the packets that their writers lost before that.
  uint64_t begun = 0;
  uint64_t received = 0;
  PacketLosses lost;
};

// The packets of one chunk in the buffer.
struct ChunkAccount {
  // Returns the packets that are in the buffer.
  uint64_t num_left() const { return begun - std::min(begun, settled); }
  // Returns the packets that were not there when the chunk came. A hostile
  // producer's patch may change lengths, and so make packets.
  uint64_t num_made() const { return settled - std::min(begun, settled); }

  // The packets that begin in the chunk.
  uint64_t begun = 0;
  // The number of them that were given out or lost.
  uint64_t settled = 0;
  // The packets that a later copy had besides. There was no room for that copy,
  // so they are lost (kDiscarded).
  uint64_t refused = 0;
};

// The packets of a chunk that is gone and may come again. A later copy finds
// those again that are |lost|. The others are settled.
struct GoneAccount {
  uint64_t begun = 0;
  uint64_t lost = 0;
  LossReason reason = LossReason::kUnknown;
};

// Accounts for each packet that a writer has begun, once. A packet belongs to
// the chunk that it begins in, and has one state. The functions of the ledger
// move packets from state to state:
//
//     +------------------- absent -------------------+
//     |                    ^    ^                    |
//     | Store()   Refuse() |    | Update()           | Refuse(), Update(),
//     |         TakeBack() |    | Refuse()           | LoseChunk(),
//     v                    |    | TakeBack()         v LoseUnreported()
//   in the buffer ---------+    +----------------- lost
//     |       |                                     ^ ^
//     |       |        LosePacket(), Close()        | |
//     |       +-------------------------------------+ |
//     | GiveOut()                                     |
//     v                LoseGivenOut()                 |
//   given out ----------------------------------------+
//     |       |
//     |       +---- Withdraw() ---> absent
//     | Receive()
//     v
//   received
//
// A packet that was given out or lost is settled. A chunk may come several
// times: each copy has what its writer had written by then.
//
// - A later copy takes the place of an earlier one. TakeBack() makes packets of
//   the earlier copy absent, but for those that stay settled. Store() or
//   LoseChunk() takes the packets of the later copy.
// - A later copy finds no place: the buffer is full, or the chunk was read.
//   Refuse() and Update() lose the packets that the later copy has besides. If
//   the later copy is complete and has fewer packets, the writer has given up
//   the one that was open, and reports it. That packet becomes absent.
//
// So the packets written are those in the buffer, given out, received and lost.
// Report() adds the packets that began in no chunk.
class PacketLedger {
 public:
  // Takes a chunk's packets, which the buffer stores. |settled| of them are
  // settled already.
  ChunkAccount Store(uint64_t num_begun, uint64_t settled);
  // Loses a chunk's packets, but for those that are |settled|, and its |bytes|.
  GoneAccount LoseChunk(uint64_t num_begun,
                        uint64_t settled,
                        LossReason reason,
                        size_t bytes);

  // Take back the packets of an earlier copy for a later one that has
  // |num_begun|. Return how many of these stay settled. Store() or LoseChunk()
  // has to follow.
  uint64_t TakeBack(const ChunkAccount& earlier, uint64_t num_begun);
  uint64_t TakeBack(const GoneAccount& earlier, uint64_t num_begun);

  // Take a later copy for which there is no place, because the buffer is full
  // or the chunk was read.
  void Refuse(uint64_t num_begun, bool is_complete, ChunkAccount* earlier);
  void Update(uint64_t num_begun, bool is_complete, GoneAccount* earlier);

  // Loses the packets of a chunk that leaves the buffer, but for those that are
  // settled, and its |bytes|.
  GoneAccount Close(const ChunkAccount& chunk, LossReason reason, size_t bytes);

  // Gives out packets of the chunk. Receive() or LoseGivenOut() follows.
  void GiveOut(ChunkAccount* chunk, uint64_t packets = 1) {
    chunk->settled += packets;
  }
  void LosePacket(LossReason reason, size_t bytes, ChunkAccount* chunk) {
    ++chunk->settled;
    lost_.Add(reason, 1, bytes);
  }
  void Receive(uint64_t packets = 1) {
    received_ += packets;
    has_gap_ = false;
  }
  void LoseGivenOut(LossReason reason, size_t bytes) {
    lost_.Add(reason, 1, bytes);
    MarkGap();
  }
  // Forgets a packet that was given out: it is empty, or no part of the trace.
  void Withdraw() { --written_; }
  // Does what PacketSums::ForgetOverwritten() does.
  void ForgetOverwritten() {
    uint64_t begun = written_;
    PacketSums::Forget(&lost_, &written_, &begun);
  }
  // Loses a packet that began in no chunk, and whose writer reports no losses.
  void LoseUnreported() {
    ++written_;
    lost_.Add(LossReason::kUnknown, 1);
  }

  // Takes a writer's report. REQUIRES: the reason is one of writers.
  void Report(const CommitDataRequest::WriterLosses& losses);

  // Says that something is missing before the next packet that is received.
  void MarkGap() {
    num_gaps_ += !has_gap_;
    has_gap_ = true;
  }
  bool has_gap() const { return has_gap_; }
  uint64_t num_gaps() const { return num_gaps_; }

  // Returns the sums with the writer's reports. These add packets that the
  // writer lost before any part of them came. For packets whose beginning came,
  // the writer's reason replaces the one that was found here.
  PacketSums Sums() const;

 private:
  // Takes the packets beyond |num_known| as lost. Returns how many they are.
  uint64_t LoseNew(uint64_t num_begun, uint64_t num_known, LossReason reason);
  // Makes packets absent that were lost.
  void FindAgain(uint64_t num_lost, LossReason reason);

  uint64_t written_ = 0;
  uint64_t received_ = 0;
  PacketLosses lost_;
  // True if something was lost since the last packet that was received.
  bool has_gap_ = false;
  uint64_t num_gaps_ = 0;
  // The writer's reports, and the number of those packets that began in a
  // chunk.
  PacketLosses reported_;
  uint64_t reported_begun_[kNumWriterLossReasons] = {};
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_PACKET_LEDGER_H_
