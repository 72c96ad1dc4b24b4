// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Whether the encoders that the benchmarks compare do the same work: what each
// of them writes is parsed by libprotobuf and compared with the event it was
// given. Nothing here looks at the clock.

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/event.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {

// For GoogleTest, instead of the bytes of the object.
void PrintTo(const EncoderEntry& entry, std::ostream* os) {
  *os << entry.workload << " " << entry.implementation;
}

namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::protozero::benchmark::EveryField;

// The workloads as the test understands them, written apart from fill.h: how
// many events make a message, each nested in the one before, and the sizes
// that all inputs with 5-byte varints have.
struct Expectation {
  size_t levels;
  size_t canonical_size;
};

const std::map<std::string, Expectation>& Expectations() {
  static const auto* expectations = new std::map<std::string, Expectation>{
      {"Simple", {1, 58}},
      {"Nested", {kNestedDepth, 239}},
  };
  return *expectations;
}

EveryField ExpectedMessage(const Event* events, size_t levels) {
  EveryField message;
  EveryField* level = &message;
  for (size_t i = 0; i < levels; ++i) {
    if (i > 0)
      level = level->mutable_field_nested();
    level->set_field_int32(events[i].number_int32);
    level->set_field_int64(events[i].number_int64);
    level->set_field_uint32(events[i].number_uint32);
    level->set_field_uint64(events[i].number_uint64);
    level->set_field_string(
        std::string(events[i].string, events[i].string_size));
  }
  return message;
}

std::vector<uint64_t> ExpectedSlots(const Event* events, size_t levels) {
  std::vector<uint64_t> slots;
  for (size_t i = 0; i < levels; ++i) {
    slots.push_back(static_cast<uint64_t>(int64_t{events[i].number_int32}));
    slots.push_back(events[i].number_uint32);
    slots.push_back(static_cast<uint64_t>(events[i].number_int64));
    slots.push_back(events[i].number_uint64);
    std::array<uint64_t, kStringSlots> string;
    memcpy(string.data(), events[i].string, sizeof(string));
    slots.insert(slots.end(), string.begin(), string.end());
  }
  return slots;
}

// Encodes into a slot as large as a benchmark's, and checks that the bytes
// behind it stay as they are.
class GuardedOutput {
 public:
  // Zeros, as in a ring: a slot of the floor's may end with bytes that are not
  // written.
  GuardedOutput() {
    memset(bytes_, 0, kSlotSize);
    memset(bytes_ + kSlotSize, kGuard, sizeof(bytes_) - kSlotSize);
  }

  std::string Encode(Encoder* encoder, const Event* event) {
    const size_t size = encoder->Encode(event, bytes_, kSlotSize);
    EXPECT_LE(size, kSlotSize);
    EXPECT_TRUE(std::all_of(bytes_ + kSlotSize, bytes_ + sizeof(bytes_),
                            [](uint8_t byte) { return byte == kGuard; }))
        << "wrote behind the end of its buffer";
    return std::string(reinterpret_cast<char*>(bytes_),
                       std::min(size, kSlotSize));
  }

 private:
  static constexpr uint8_t kGuard = 0xa5;

  alignas(64) uint8_t bytes_[kSlotSize + 64];
};

class BenchmarkOutputsTest : public ::testing::TestWithParam<EncoderEntry> {
 protected:
  void CheckOutput(const std::string& output, const Event* events) {
    const Expectation& expectation = Expectations().at(GetParam().workload);
    switch (GetParam().format) {
      case OutputFormat::kProtobuf: {
        EveryField parsed;
        ASSERT_TRUE(parsed.ParseFromString(output));
        const EveryField expected = ExpectedMessage(events, expectation.levels);
        EXPECT_TRUE(MessageDifferencer::Equals(parsed, expected))
            << parsed.DebugString() << "instead of\n"
            << expected.DebugString();
        return;
      }
      case OutputFormat::kSlots: {
        const std::vector<uint64_t> expected =
            ExpectedSlots(events, expectation.levels);
        ASSERT_EQ(output.size(), expected.size() * sizeof(uint64_t));
        EXPECT_EQ(memcmp(output.data(), expected.data(), output.size()), 0);
        return;
      }
      case OutputFormat::kNone:
        EXPECT_EQ(output, "");
        return;
    }
    FAIL() << "not a format";
  }

  // One encoder for the whole cycle, as in a benchmark: what one event leaves
  // behind in it must not show in the next.
  void CheckCycle(const EventCycle& events) {
    std::unique_ptr<Encoder> encoder = GetParam().create();
    for (size_t i = 0; i < events.size(); ++i) {
      SCOPED_TRACE(i);
      GuardedOutput output;
      CheckOutput(output.Encode(encoder.get(), events.At(i)), events.At(i));
      if (HasFailure())
        return;
    }
  }
};

TEST_P(BenchmarkOutputsTest, ConstantEventIsEncodedFaithfully) {
  CheckCycle(EventCycle(1));
}

TEST_P(BenchmarkOutputsTest, RandomEventsAreEncodedFaithfully) {
  CheckCycle(EventCycle(2048));
}

// No encoder gets away with less than the message, and ours pays at most the
// padded size field (3 bytes more) of each nested message.
TEST_P(BenchmarkOutputsTest, SizeIsThatOfTheMessage) {
  const EventCycle events(1);
  std::unique_ptr<Encoder> encoder = GetParam().create();
  GuardedOutput output;
  const size_t size = output.Encode(encoder.get(), events.At(0)).size();
  const Expectation& expectation = Expectations().at(GetParam().workload);
  size_t least = 0;
  size_t padding = 0;
  switch (GetParam().format) {
    case OutputFormat::kProtobuf:
      least = expectation.canonical_size;
      padding = 3 * (expectation.levels - 1);
      break;
    case OutputFormat::kSlots:
      least = expectation.levels * (4 + kStringSlots) * sizeof(uint64_t);
      break;
    case OutputFormat::kNone:
      break;
  }
  EXPECT_GE(size, least);
  EXPECT_LE(size, least + padding);
}

// What is measured is a loop of its own; that it encodes the same, and the
// next message of the cycle into the next slot of the ring.
TEST_P(BenchmarkOutputsTest, LoopEncodesEveryEventIntoItsSlot) {
  constexpr size_t kCycleSize = 64;
  constexpr size_t kFirst = kCycleSize - 2;  // goes round both ends
  constexpr size_t kCount = 5;
  const EventCycle events(kCycleSize);
  for (bool reads_back : {false, true}) {
    OutputRing ring(4 * kSlotSize);
    std::unique_ptr<Encoder> encoder = GetParam().create();
    const size_t bytes = encoder->EncodeBatch(
        {&events, &ring, kSlotSize, kFirst, kCount, reads_back});
    size_t expected_bytes = 0;
    for (size_t i = kFirst; i < kFirst + kCount; ++i) {
      GuardedOutput output;
      const std::string expected = output.Encode(encoder.get(), events.At(i));
      expected_bytes += expected.size();
      if (i == kFirst)
        continue;  // overwritten by the last one
      EXPECT_EQ(memcmp(ring.At(i)->begin(), expected.data(), expected.size()),
                0)
          << i;
    }
    EXPECT_EQ(bytes, expected_bytes);
  }
}

std::string TestName(const ::testing::TestParamInfo<EncoderEntry>& info) {
  return info.param.workload + info.param.implementation;
}

INSTANTIATE_TEST_SUITE_P(AllEncoders,
                         BenchmarkOutputsTest,
                         ::testing::ValuesIn(AllEncoders()),
                         TestName);

// A row that has no counterpart is compared with nothing.
TEST(BenchmarkListTest, EveryImplementationHasEveryWorkload) {
  std::map<std::string, std::set<std::string>> workloads_of;
  for (const EncoderEntry& entry : AllEncoders()) {
    EXPECT_TRUE(
        workloads_of[entry.implementation].insert(entry.workload).second)
        << entry.implementation << " has " << entry.workload << " twice";
  }
  std::set<std::string> workloads;
  for (const auto& expectation : Expectations())
    workloads.insert(expectation.first);
  for (const auto& implementation : workloads_of)
    EXPECT_EQ(implementation.second, workloads) << implementation.first;
  for (const char* name : {"Empty", "SpeedOfLight", "Protozero", "Libprotobuf"})
    EXPECT_EQ(workloads_of.count(name), 1u) << name;
}

TEST(EventCycleTest, ConstantVarintsTakeFiveBytes) {
  const EventCycle events(1);
  const EveryField message = ExpectedMessage(events.At(0), 1);
  // Four one-byte tags with five bytes each, a two-byte tag with its string.
  EXPECT_EQ(message.ByteSizeLong(), 4u * (1 + 5) + 2 + 1 + kStringSize);
  EXPECT_EQ(events.At(1), events.At(0));
}

TEST(EventCycleTest, RandomBitLengthsAreUniform) {
  const EventCycle events(kRandomCycleSize);
  std::array<size_t, 64> lengths32 = {};
  std::array<size_t, 64> lengths64 = {};
  auto bit_length = [](uint64_t value) {
    size_t length = 0;
    for (; value != 0; value >>= 1)
      ++length;
    return length;
  };
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = *events.At(i);
    ASSERT_GT(event.number_int32, 0);
    ASSERT_GT(event.number_int64, 0);
    ++lengths32[bit_length(static_cast<uint64_t>(event.number_int32))];
    ++lengths32[bit_length(event.number_uint32)];
    ++lengths64[bit_length(static_cast<uint64_t>(event.number_int64))];
    ++lengths64[bit_length(event.number_uint64)];
  }
  // Two fields of each width: 2114 and 1040 per length are expected. The bounds
  // are 6 standard deviations away.
  static_assert(kRandomCycleSize == 32768, "as computed");
  for (size_t length = 1; length <= 31; ++length)
    EXPECT_NEAR(static_cast<double>(lengths32[length]), 2114, 271) << length;
  for (size_t length = 1; length <= 63; ++length)
    EXPECT_NEAR(static_cast<double>(lengths64[length]), 1040, 192) << length;
  EXPECT_EQ(events.At(kRandomCycleSize), events.At(0));
}

TEST(EventCycleTest, MessageThatBeginsAtTheEndOfTheCycleContinuesAtItsStart) {
  const EventCycle events(kRandomCycleSize);
  const Event* last = events.At(kRandomCycleSize - 1);
  for (size_t i = 0; i < EventCycle::kOverlap; ++i)
    EXPECT_EQ(memcmp(&last[1 + i], events.At(i), sizeof(Event)), 0) << i;
}

}  // namespace

}  // namespace bench
}  // namespace protozero
