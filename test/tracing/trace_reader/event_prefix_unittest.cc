// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/event_prefix.h"

#include <stdint.h>

#include <string_view>

#include "gtest/gtest.h"

namespace {

using protozero::ConstBytes;

bool BeginsWithEvent(std::string_view packet) {
  return protozero::internal::BeginsWithEvent(ConstBytes(
      reinterpret_cast<const uint8_t*>(packet.data()), packet.size()));
}

// The tags are those of timestamp (8), sequence_flags (13), track_event (11),
// trusted_packet_sequence_id (10), and others.
TEST(EventPrefixTest, NumbersMayBeInFrontOfAnEvent) {
  EXPECT_TRUE(BeginsWithEvent("\x5a\x02\x48\x01"));
  EXPECT_TRUE(BeginsWithEvent("\x40\x80\x01\x68\x02\x5a\x02\x48\x01\x50\x01"));
  // A number is no tag, whatever its bytes are.
  EXPECT_FALSE(BeginsWithEvent("\x40\x5a\x50\x01"));
  EXPECT_FALSE(BeginsWithEvent("\x40\xda\x5a\x50\x5a"));
}

TEST(EventPrefixTest, OtherPacketsAreSearched) {
  EXPECT_FALSE(BeginsWithEvent(""));
  EXPECT_FALSE(BeginsWithEvent("\x40\x01"));
  EXPECT_FALSE(BeginsWithEvent("\x40"));
  EXPECT_FALSE(BeginsWithEvent("\x40\xff\xff"));
  // A track_descriptor, compressed_packets, and interned_data with an event
  // after it.
  EXPECT_FALSE(BeginsWithEvent("\xe2\x03\x02\x08\x01"));
  EXPECT_FALSE(BeginsWithEvent("\x92\x03\x02\x5a\x01"));
  EXPECT_FALSE(BeginsWithEvent("\x62\x02\x5a\x01\x5a\x01\x01"));
  // A fixed64, whose bytes could be an event.
  EXPECT_FALSE(BeginsWithEvent("\x41\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a"));
}

}  // namespace
