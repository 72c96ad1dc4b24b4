// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Compares what a run of packets becomes with what each of them becomes alone.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/trace_buffer.h"
#include "test/testing/hex.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using service::TrustedFields;
using Random = std::mt19937_64;

constexpr uint32_t kSequence = 70000;

// Returns the varint, with |excess| bytes more than it needs.
std::string VarInt(uint64_t value, uint64_t excess = 0) {
  std::string bytes;
  for (; value >= 0x80 || excess != 0; value >>= 7) {
    excess -= value < 0x80;
    bytes += static_cast<char>(value | 0x80);
  }
  return bytes + static_cast<char>(value);
}

// Returns a field, some of which are malformed, cut off, or the service's.
std::string AnyField(Random& random) {
  const auto one_in = [&](uint64_t count) { return random() % count == 0; };
  const uint64_t id = random() % (one_in(4) ? 140 : 16);
  const uint64_t type = random() % 8;
  std::string field = VarInt(id << 3 | type, one_in(20) ? 1 + random() % 9 : 0);
  switch (type) {
    case 0:
      field += VarInt(random() >> random() % 64, one_in(8) ? random() % 11 : 0);
      break;
    case 1:
      field += "8 bytes.";
      break;
    case 2: {
      const std::string bytes(random() % (one_in(8) ? 300 : 60), '\xff');
      field += VarInt(bytes.size() + one_in(20), one_in(20) ? 1 : 0) + bytes;
      break;
    }
    default:
      field += "four";
      break;
  }
  if (one_in(10))
    field.resize(random() % field.size());
  return field;
}

std::string AnyPacket(Random& random) {
  std::string packet;
  for (uint64_t i = random() % 5; i != 0; --i)
    packet += random() % 20 == 0 ? AnyField(random) : FromHex("40 99 01");
  switch (random() % 200) {
    case 0:
      return "";
    case 1:
      return packet + FromHex("0a ff 3f") + std::string(0x1fff, 'b');
    case 2:  // previous_packet_dropped
      return packet + FromHex("d0 02 01");
    default:
      return packet + FromHex("68 02");
  }
}

class Fragments {
 public:
  explicit Fragments(Random& random) {
    std::string bytes;
    for (uint64_t i = 1 + random() % 200; i != 0; --i) {
      packets.push_back(AnyPacket(random));
      bytes += VarInt(packets.back().size(), random() % 20 == 0 ? 1 : 0) +
               packets.back();
    }
    // Sanitizers see what is read after the padding.
    memory_.reset(new uint8_t[bytes.size() + TraceBuffer::Run::kPadding]);
    uint8_t* const end = std::copy(bytes.begin(), bytes.end(), memory_.get());
    std::generate_n(end, TraceBuffer::Run::kPadding,
                    [&] { return static_cast<uint8_t>(random()); });
    size_ = bytes.size();
  }

  ConstBytes Behind(size_t offset) const {
    return {memory_.get() + offset, size_ - offset};
  }

  std::vector<std::string> packets;

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t size_ = 0;
};

// Returns whether a run may end before such a packet.
bool NeedsAnotherLook(const std::string& packet, bool reports_losses) {
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(packet.data()),
                         packet.size());
  return packet.empty() || packet.size() > 4000 ||
         !service::IsValidPacket(bytes) ||
         (!reports_losses && service::SaysPreviousPacketDropped(bytes));
}

class AnyPacketRunTest : public testing::TestWithParam<bool> {};

TEST_P(AnyPacketRunTest, PacketsBecomeWhatTheyBecomeAlone) {
  Random random(1);
  TraceBuffer::ProducerIdentity producer = {1, 1000, 1234, GetParam()};
  uint64_t num_taken = 0;
  uint64_t num_refused = 0;
  for (int round = 0; round < 1000; ++round) {
    producer.pid = random() % 2 == 0 ? -1 : 1234;
    const Fragments fragments(random);
    const std::vector<std::string>& packets = fragments.packets;
    TrustedFields trusted(random() % 2 == 0);
    uint32_t sequence = kSequence;
    std::vector<uint8_t> trace;
    std::vector<uint8_t> expected;
    size_t offset = 0;
    for (size_t i = 0; i < packets.size();) {
      // Packets that the chunk does not have are not taken.
      const size_t max_packets = 1 + random() % 300;
      const TraceBuffer::RunPart part = trusted.AppendTo(
          {fragments.Behind(offset), max_packets, producer, sequence, false},
          &trace);
      ASSERT_LE(part.packets, std::min(max_packets, packets.size() - i));
      num_taken += part.packets;
      for (const size_t end = i + part.packets; i < end; ++i) {
        ASSERT_FALSE(NeedsAnotherLook(packets[i], GetParam()))
            << Hex(packets[i]);
        TraceBuffer::Packet packet = {};
        packet.producer = producer;
        packet.sequence_id = &sequence;
        service::AppendPacket(
            {reinterpret_cast<const uint8_t*>(packets[i].data()),
             packets[i].size()},
            trusted.Of(packet), &expected);
      }
      ASSERT_EQ(trace, expected);
      offset += part.bytes;
      if (part.packets != 0 || i == packets.size())
        continue;
      ASSERT_TRUE(NeedsAnotherLook(packets[i], GetParam())) << Hex(packets[i]);
      ++num_refused;
      ConstBytes fragment;
      ASSERT_EQ(ReadFragment(fragments.Behind(0), &offset, &fragment),
                FragmentKind::kPacket);
      ++i;
    }
    ASSERT_EQ(fragments.Behind(offset).size, 0u);
  }
  EXPECT_GT(num_taken, 50000u);
  EXPECT_GT(num_refused, 1000u);
}

// A patch of a hostile producer may change lengths after they were counted.
TEST(PacketRunTest, PacketThatIsCutOffIsNotTaken) {
  // Two short packets, one with a long length, and a long one.
  const std::string bytes =
      FromHex("04 40 01 68 02 84 00 40 01 68 02 46 0a 44") +
      std::string(68, 'b');
  const size_t ends[] = {5, 11, bytes.size()};
  const TraceBuffer::ProducerIdentity producer = {1, 1000, 1234};
  // Behind the end are the bytes that the last packet lacks.
  const std::string memory =
      bytes + std::string(TraceBuffer::Run::kPadding, 'x');
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const ConstBytes fragments(reinterpret_cast<const uint8_t*>(memory.data()),
                               size);
    std::vector<uint8_t> trace;
    const TraceBuffer::RunPart part = TrustedFields(true).AppendTo(
        {fragments, 3, producer, 2, false}, &trace);
    const auto num_whole =
        std::upper_bound(std::begin(ends), std::end(ends), size) - ends;
    EXPECT_EQ(part.packets, num_whole) << size;
  }
}

TEST(PacketRunTest, LongestFieldsHaveRoom) {
  uint32_t sequence = UINT32_MAX;
  const TraceBuffer::ProducerIdentity producer = {1, -1, -1};
  TraceBuffer::Packet packet = {};
  packet.producer = producer;
  packet.sequence_id = &sequence;
  packet.previous_packet_dropped = true;
  TrustedFields trusted(true);
  const std::string ones = " ff ff ff ff ff ff ff ff ff 01";
  EXPECT_EQ(Hex(trusted.Of(packet).ToStdStringView()),
            "18" + ones + " 50 ff ff ff ff 0f f8 04" + ones + " d0 02 01");
  const std::string memory = FromHex("02 40 01 02 40 02") +
                             std::string(TraceBuffer::Run::kPadding, '\0');
  std::vector<uint8_t> trace;
  trusted.AppendTo({{reinterpret_cast<const uint8_t*>(memory.data()), 6},
                    2,
                    producer,
                    sequence,
                    false},
                   &trace);
  const std::string fields = "18" + ones + " 50 ff ff ff ff 0f f8 04" + ones;
  EXPECT_EQ(Hex(trace), "0a 1f 40 01 " + fields + " 0a 1f 40 02 " + fields);
}

INSTANTIATE_TEST_SUITE_P(,
                         AnyPacketRunTest,
                         testing::Bool(),
                         [](const auto& reports_losses) {
                           return reports_losses.param ? "ReportsLosses"
                                                       : "ReportsNothing";
                         });

}  // namespace
}  // namespace protozero::test
