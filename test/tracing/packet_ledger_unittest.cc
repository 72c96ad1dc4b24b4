// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/packet_ledger.h"

#include <random>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::test {
namespace {

using service::ChunkAccount;
using service::GoneAccount;
using service::PacketLedger;
using service::PacketSums;

class PacketLedgerTest : public testing::Test {
 protected:
  uint64_t written() const { return ledger_.Sums().written; }
  uint64_t received() const { return ledger_.Sums().received; }
  uint64_t lost(LossReason reason) const {
    return ledger_.Sums().lost.of(reason);
  }
  uint64_t all_lost() const { return ledger_.Sums().lost.total(); }
  // Returns the packets that are neither received nor lost.
  uint64_t num_open() const { return written() - received() - all_lost(); }

  void Report(LossReason reason,
              uint64_t packets,
              uint64_t begun,
              uint64_t bytes) {
    ledger_.Report({1, 1, reason, packets, begun, bytes});
  }

  PacketLedger ledger_;
};

TEST_F(PacketLedgerTest, StoredPacketsAreReceivedOrLost) {
  ChunkAccount chunk = ledger_.Store(4, 0);
  EXPECT_EQ(chunk.num_left(), 4u);
  ledger_.GiveOut(&chunk);
  ledger_.Receive();
  ledger_.GiveOut(&chunk);
  ledger_.LoseGivenOut(LossReason::kInvalid, 10);
  ledger_.LosePacket(LossReason::kIncomplete, 20, &chunk);
  EXPECT_EQ(chunk.num_left(), 1u);
  EXPECT_EQ(num_open(), 1u);
  ledger_.Close(chunk, LossReason::kOverwritten, 40);
  EXPECT_EQ(written(), 4u);
  EXPECT_EQ(received(), 1u);
  EXPECT_EQ(lost(LossReason::kInvalid), 1u);
  EXPECT_EQ(lost(LossReason::kIncomplete), 1u);
  EXPECT_EQ(lost(LossReason::kOverwritten), 1u);
  EXPECT_EQ(ledger_.Sums().lost.bytes, 70u);
  EXPECT_EQ(ledger_.Sums().begun, 4u);
}

TEST_F(PacketLedgerTest, LaterCopyTakesThePlaceOfAnEarlierOne) {
  ChunkAccount earlier = ledger_.Store(3, 0);
  ledger_.GiveOut(&earlier);
  ledger_.Receive();
  const uint64_t settled = ledger_.TakeBack(earlier, 5);
  EXPECT_EQ(settled, 1u);
  const ChunkAccount later = ledger_.Store(5, settled);
  EXPECT_EQ(later.num_left(), 4u);
  EXPECT_EQ(written(), 5u);
  EXPECT_EQ(num_open(), 4u);
}

// Only a hostile producer takes back packets that were given out.
TEST_F(PacketLedgerTest, LaterCopyCannotTakeBackWhatWasGivenOut) {
  ChunkAccount chunk = ledger_.Store(3, 0);
  for (int i = 0; i < 2; ++i) {
    ledger_.GiveOut(&chunk);
    ledger_.Receive();
  }
  chunk = ledger_.Store(1, ledger_.TakeBack(chunk, 1));
  EXPECT_EQ(chunk.num_left(), 0u);
  EXPECT_EQ(written(), 2u);
  EXPECT_EQ(num_open(), 0u);
}

TEST_F(PacketLedgerTest, CopyWithoutRoomIsRefusedUntilALaterOneHasRoom) {
  ChunkAccount held = ledger_.Store(2, 0);
  ledger_.Refuse(5, false, &held);
  EXPECT_EQ(held.refused, 3u);
  EXPECT_EQ(lost(LossReason::kDiscarded), 3u);
  // The same copy again has nothing new.
  ledger_.Refuse(5, false, &held);
  EXPECT_EQ(lost(LossReason::kDiscarded), 3u);
  EXPECT_EQ(written(), 5u);
  EXPECT_EQ(num_open(), held.num_left());

  held = ledger_.Store(6, ledger_.TakeBack(held, 6));
  EXPECT_EQ(all_lost(), 0u);
  EXPECT_EQ(written(), 6u);
  EXPECT_EQ(held.refused, 0u);
}

// An open packet counts in a copy. If the complete chunk does not have it, the
// writer has given it up, and reports it.
TEST_F(PacketLedgerTest, RefusedPacketsThatAreGivenUpBecomeAbsent) {
  ChunkAccount held = ledger_.Store(2, 0);
  ledger_.Refuse(3, false, &held);
  ledger_.Refuse(2, true, &held);
  EXPECT_EQ(held.refused, 0u);
  EXPECT_EQ(all_lost(), 0u);
  EXPECT_EQ(written(), 2u);
  ledger_.Refuse(1, true, &held);
  EXPECT_EQ(held.num_left(), 1u);
  EXPECT_EQ(written(), 1u);
  // A packet that was given out stays.
  ledger_.GiveOut(&held);
  ledger_.Receive();
  ledger_.Refuse(0, true, &held);
  EXPECT_EQ(written(), 1u);
  EXPECT_EQ(num_open(), 0u);
}

TEST_F(PacketLedgerTest, ClosedChunkCountsWhatALaterCopyMayFindAgain) {
  ChunkAccount held = ledger_.Store(3, 0);
  ledger_.GiveOut(&held);
  ledger_.Receive();
  ledger_.Refuse(4, false, &held);
  const GoneAccount gone = ledger_.Close(held, LossReason::kDiscarded, 0);
  EXPECT_EQ(gone.begun, 4u);
  EXPECT_EQ(gone.lost, 3u);
  EXPECT_EQ(gone.reason, LossReason::kDiscarded);
  EXPECT_EQ(lost(LossReason::kDiscarded), 3u);

  const uint64_t settled = ledger_.TakeBack(gone, 5);
  EXPECT_EQ(settled, 1u);
  const ChunkAccount again = ledger_.Store(5, settled);
  EXPECT_EQ(all_lost(), 0u);
  EXPECT_EQ(written(), 5u);
  EXPECT_EQ(num_open(), again.num_left());
}

TEST_F(PacketLedgerTest, LostChunkMayBeLostAgain) {
  GoneAccount gone = ledger_.LoseChunk(2, 0, LossReason::kOutOfMemory, 30);
  EXPECT_EQ(gone.lost, 2u);
  gone = ledger_.LoseChunk(3, ledger_.TakeBack(gone, 3), LossReason::kDiscarded,
                           0);
  EXPECT_EQ(lost(LossReason::kOutOfMemory), 0u);
  EXPECT_EQ(lost(LossReason::kDiscarded), 3u);
  EXPECT_EQ(written(), 3u);
  EXPECT_EQ(ledger_.Sums().lost.bytes, 30u);
}

TEST_F(PacketLedgerTest, LateCopyOfAGoneChunkIsLostForTheSameReason) {
  GoneAccount gone = ledger_.LoseChunk(2, 0, LossReason::kOverwritten, 0);
  ledger_.Update(4, false, &gone);
  EXPECT_EQ(gone.begun, 4u);
  EXPECT_EQ(lost(LossReason::kOverwritten), 4u);
  // Only a complete chunk tells that packets were given up.
  ledger_.Update(3, false, &gone);
  EXPECT_EQ(written(), 4u);
  ledger_.Update(3, true, &gone);
  EXPECT_EQ(gone.begun, 3u);
  EXPECT_EQ(gone.lost, 3u);
  EXPECT_EQ(written(), 3u);
  EXPECT_EQ(all_lost(), 3u);
}

TEST_F(PacketLedgerTest, EmptyPacketIsWithdrawn) {
  ChunkAccount chunk = ledger_.Store(1, 0);
  ledger_.GiveOut(&chunk);
  ledger_.Withdraw();
  EXPECT_EQ(written(), 0u);
  EXPECT_EQ(chunk.num_left(), 0u);
}

TEST_F(PacketLedgerTest, UnreportedPacketIsLostForAnUnknownReason) {
  ledger_.LoseUnreported();
  EXPECT_EQ(written(), 1u);
  EXPECT_EQ(lost(LossReason::kUnknown), 1u);
}

TEST_F(PacketLedgerTest, ReportsAddPacketsThatBeganInNoChunk) {
  Report(LossReason::kMemoryFull, 3, 0, 100);
  EXPECT_EQ(written(), 0u);
  EXPECT_EQ(ledger_.Sums().begun, 3u);
  EXPECT_EQ(lost(LossReason::kMemoryFull), 3u);
  EXPECT_EQ(ledger_.Sums().lost.bytes, 100u);
}

TEST_F(PacketLedgerTest, ReportedReasonReplacesThatOfTornPackets) {
  ChunkAccount chunk = ledger_.Store(5, 0);
  ledger_.LosePacket(LossReason::kUnknown, 0, &chunk);
  ledger_.LosePacket(LossReason::kIncomplete, 0, &chunk);
  ledger_.LosePacket(LossReason::kIncomplete, 0, &chunk);
  ledger_.LosePacket(LossReason::kOverwritten, 0, &chunk);
  Report(LossReason::kStallTimedOut, 3, 2, 0);
  EXPECT_EQ(lost(LossReason::kStallTimedOut), 3u);
  EXPECT_EQ(lost(LossReason::kUnknown), 0u);
  EXPECT_EQ(lost(LossReason::kIncomplete), 1u);
  EXPECT_EQ(lost(LossReason::kOverwritten), 1u);
  EXPECT_EQ(ledger_.Sums().begun, 6u);
  // A writer cannot explain more packets than were torn.
  Report(LossReason::kTooLarge, 9, 9, 0);
  EXPECT_EQ(lost(LossReason::kTooLarge), 1u);
  EXPECT_EQ(lost(LossReason::kOverwritten), 1u);
}

TEST_F(PacketLedgerTest, ReportedNumbersDoNotOverflow) {
  Report(LossReason::kMemoryFull, UINT64_MAX, 0, UINT64_MAX);
  Report(LossReason::kMemoryFull, 1, 0, 1);
  PacketSums sums = ledger_.Sums();
  sums.Add(sums);
  EXPECT_EQ(sums.begun, UINT64_MAX);
  EXPECT_EQ(sums.lost.of(LossReason::kMemoryFull), UINT64_MAX);
}

TEST_F(PacketLedgerTest, NumbersHaveMoreThan32Bits) {
  constexpr uint64_t kMany = (uint64_t{1} << 32) + 7;
  ledger_.Store(kMany, 0);
  Report(LossReason::kWriterBusy, kMany, 0, 0);
  Report(LossReason::kWriterBusy, kMany, 0, 0);
  ledger_.Close({kMany, 3}, LossReason::kOverwritten, 0);
  const PacketSums sums = ledger_.Sums();
  EXPECT_EQ(sums.written, kMany);
  EXPECT_EQ(sums.begun, 3 * kMany);
  EXPECT_EQ(lost(LossReason::kWriterBusy), 2 * kMany);
  EXPECT_EQ(lost(LossReason::kOverwritten), kMany - 3);
}

TEST_F(PacketLedgerTest, GapCountsOnceUntilAPacketIsReceived) {
  EXPECT_FALSE(ledger_.has_gap());
  ledger_.MarkGap();
  ledger_.MarkGap();
  EXPECT_TRUE(ledger_.has_gap());
  ledger_.LoseGivenOut(LossReason::kInvalid, 0);
  EXPECT_EQ(ledger_.num_gaps(), 1u);
  ledger_.Receive();
  EXPECT_FALSE(ledger_.has_gap());
  ledger_.LoseGivenOut(LossReason::kInvalid, 0);
  EXPECT_EQ(ledger_.num_gaps(), 2u);
}

// Moves one chunk along, as a buffer does whose chunks come again and again. A
// writer may give up a packet as long as it is open.
TEST_F(PacketLedgerTest, EachPacketHasOneState) {
  std::mt19937_64 random(1);
  constexpr LossReason kReason = LossReason::kDiscarded;
  for (int run = 0; run < 1000; ++run) {
    ledger_ = PacketLedger();
    uint64_t num_begun = random() % 5;
    std::variant<ChunkAccount, GoneAccount> account =
        ledger_.Store(num_begun, 0);
    uint64_t num_settled = 0;
    for (int step = 0; step < 20; ++step) {
      auto* const chunk = std::get_if<ChunkAccount>(&account);
      const uint64_t choice = random() % 8;
      if (chunk != nullptr && choice < 3) {
        if (chunk->num_left() != 0) {
          ledger_.GiveOut(chunk);
          ledger_.Receive();
          ++num_settled;
        }
      } else if (chunk != nullptr && choice == 3) {
        account = ledger_.Close(*chunk, kReason, 0);
      } else {
        // Another copy comes.
        num_begun += random() % 3;
        const bool is_complete = random() % 4 == 0;
        if (is_complete && num_begun > num_settled)
          --num_begun;
        const bool changes_nothing = random() % 3 == 0;
        if (changes_nothing && chunk != nullptr) {
          ledger_.Refuse(num_begun, is_complete, chunk);
        } else if (changes_nothing) {
          ledger_.Update(num_begun, is_complete,
                         &std::get<GoneAccount>(account));
        } else {
          const uint64_t settled =
              chunk != nullptr
                  ? ledger_.TakeBack(*chunk, num_begun)
                  : ledger_.TakeBack(std::get<GoneAccount>(account), num_begun);
          ASSERT_EQ(settled, num_settled);
          if (random() % 2 == 0)
            account = ledger_.Store(num_begun, settled);
          else
            account = ledger_.LoseChunk(num_begun, settled, kReason, 0);
        }
      }
      const auto* const held = std::get_if<ChunkAccount>(&account);
      ASSERT_EQ(num_open(), held == nullptr ? 0 : held->num_left());
      ASSERT_EQ(received(), num_settled);
    }
  }
}

}  // namespace
}  // namespace protozero::test
