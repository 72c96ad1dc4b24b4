// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/loss_warning.h"

#include <string>

#include <gtest/gtest.h>

namespace pztrace {
namespace {

using protozero::LossReason;
using protozero::TraceStats;

// Returns statistics of a program that has lost so many packets.
TraceStats StatsWith(LossReason reason, uint64_t packets) {
  TraceStats stats;
  stats.producers.emplace_back();
  stats.producers[0].producer_id = 7;
  stats.producers[0].name = "server";
  stats.producers[0].pid = 12;
  stats.writers.emplace_back();
  stats.writers[0].producer_id = 7;
  stats.writers[0].lost.Add(reason, packets);
  stats.buffers.emplace_back();
  stats.buffers[0].lost.Add(reason, packets);
  return stats;
}

TEST(LossWarningTest, ALineTellsWhatIsNew) {
  LossWarning warning(1000, /*is_written=*/true);
  EXPECT_FALSE(warning.IsDue(1999));
  EXPECT_TRUE(warning.IsDue(2000));
  EXPECT_EQ(warning.Look(TraceStats(), 2000), "");
  EXPECT_FALSE(warning.IsDue(2999));
  EXPECT_TRUE(warning.IsDue(3000));
  const TraceStats stats = StatsWith(LossReason::kMemoryFull, 5);
  EXPECT_EQ(
      warning.Look(stats, 3000)
          .find("server (12) traces faster than this recorder reads: 5 packets "
                "lost, shared memory full; "),
      0u);
  // Lines do not follow each other closely.
  EXPECT_FALSE(warning.IsDue(7999));
  EXPECT_TRUE(warning.IsDue(8000));
  EXPECT_EQ(warning.Look(stats, 8000), "");
  EXPECT_TRUE(warning.IsDue(9000));
  const std::string line =
      warning.Look(StatsWith(LossReason::kMemoryFull, 6), 9000);
  EXPECT_NE(line.find(" 1 packet lost"), std::string::npos) << line;
}

TEST(LossWarningTest, ABufferThatIsFullIsNoWarningIfItIsReadAtTheEnd) {
  for (const LossReason reason :
       {LossReason::kDiscarded, LossReason::kOverwritten}) {
    const TraceStats stats = StatsWith(reason, 5);
    EXPECT_EQ(LossWarning(0, /*is_written=*/true)
                  .Look(stats, 1000)
                  .find("the output takes less than programs trace: 5 packets"),
              0u);
    EXPECT_EQ(LossWarning(0, /*is_written=*/false).Look(stats, 1000), "");
  }
}

}  // namespace
}  // namespace pztrace
