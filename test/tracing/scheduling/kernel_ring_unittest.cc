// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_ring.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace protozero {
namespace internal {
namespace {

using RecordKind = KernelRecord::Kind;

// Bytes as the kernel writes them.
class RecordBytes {
 public:
  RecordBytes(uint32_t type, uint16_t misc) {
    Add(type);
    Add(misc);
    Add(uint16_t{0});
  }
  template <typename T>
  RecordBytes& Add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  RecordBytes& AddText(std::string text) {
    text.resize((text.size() + 8) & ~size_t{7});
    bytes_ += text;
    return *this;
  }
  RecordBytes& AddTrailer(int32_t tid, uint64_t time) {
    return Add(int32_t{7}).Add(tid).Add(time).Add(uint64_t{3}).Add(uint64_t{9});
  }
  std::string Done() {
    const auto size = static_cast<uint16_t>(bytes_.size());
    memcpy(bytes_.data() + 6, &size, sizeof(size));
    return bytes_;
  }

 private:
  std::string bytes_;
};

std::string Switch(uint16_t misc, int32_t tid, uint64_t time) {
  return RecordBytes(PERF_RECORD_SWITCH, misc).AddTrailer(tid, time).Done();
}

// The layout of the events that records are from: 9 for samples.
KernelSamples Layout() {
  KernelSamples samples;
  samples.kinds[10] = RecordKind::kLeaving;
  samples.kinds[11] = RecordKind::kWaking;
  samples.woken_offset = 24;
  return samples;
}

bool Parse(const std::string& bytes, KernelRecord* record) {
  return ParseKernelRecord(reinterpret_cast<const uint8_t*>(bytes.data()),
                           bytes.size(), Layout(), record);
}

// A ring that the test writes as the kernel does.
class FakeKernelRing {
 public:
  explicit FakeKernelRing(size_t size)
      : data_(size), ring(data_.data(), size, samples_) {}
  void Write(const std::string& bytes) {
    for (const char byte : bytes)
      data_[head_++ % data_.size()] = static_cast<uint8_t>(byte);
  }
  std::vector<KernelRecord> Read() {
    std::vector<KernelRecord> records;
    ring.Take(head_);
    ring.Read(SIZE_MAX, &records);
    return records;
  }
  uint64_t head() const { return head_; }

 private:
  std::vector<uint8_t> data_;
  KernelSamples samples_;
  uint64_t head_ = 0;

 public:
  KernelRing ring;
};

TEST(KernelRecordTest, SwitchesSayWhyAThreadLeaves) {
  KernelRecord record;
  ASSERT_TRUE(Parse(Switch(0, 5, 100), &record));
  EXPECT_EQ(record.kind, RecordKind::kIn);
  EXPECT_EQ(record.pid, 7);
  EXPECT_EQ(record.tid, 5);
  EXPECT_EQ(record.time, 100u);
  EXPECT_EQ(record.cpu, 3u);
  EXPECT_EQ(record.event_id, 9u);
  ASSERT_TRUE(Parse(Switch(PERF_RECORD_MISC_SWITCH_OUT, 5, 1), &record));
  EXPECT_EQ(record.kind, RecordKind::kWait);
  ASSERT_TRUE(Parse(
      Switch(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
             5, 1),
      &record));
  EXPECT_EQ(record.kind, RecordKind::kPreempted);
}

TEST(KernelRecordTest, ForksNamesAndMapsHaveSubjects) {
  KernelRecord record;
  ASSERT_TRUE(Parse(RecordBytes(PERF_RECORD_FORK, 0)
                        .Add(int32_t{20})
                        .Add(int32_t{7})
                        .Add(int32_t{21})
                        .Add(int32_t{5})
                        .Add(uint64_t{100})
                        .AddTrailer(5, 100)
                        .Done(),
                    &record));
  EXPECT_EQ(record.kind, RecordKind::kFork);
  EXPECT_EQ(record.subject_pid, 20);
  EXPECT_EQ(record.subject_tid, 21);
  ASSERT_TRUE(Parse(RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
                        .Add(int32_t{7})
                        .Add(int32_t{5})
                        .AddText("server")
                        .AddTrailer(5, 100)
                        .Done(),
                    &record));
  EXPECT_EQ(record.kind, RecordKind::kExec);
  EXPECT_EQ(record.text, "server");
  RecordBytes map(PERF_RECORD_MMAP2, 1 << 14);
  map.Add(int32_t{7}).Add(int32_t{5});
  map.Add(uint64_t{0x1000}).Add(uint64_t{0x2000}).Add(uint64_t{0x3000});
  // A build id that claims to be longer than there is room for.
  map.Add(uint32_t{255});
  for (int i = 0; i < 5; ++i)
    map.Add(uint32_t{0x61616161});
  map.Add(uint32_t{PROT_EXEC}).Add(uint32_t{0}).AddText("/bin/server");
  ASSERT_TRUE(Parse(map.AddTrailer(5, 100).Done(), &record));
  EXPECT_EQ(record.kind, RecordKind::kMap);
  EXPECT_EQ(record.address, 0x1000u);
  EXPECT_EQ(record.size, 0x2000u);
  EXPECT_EQ(record.file_offset, 0x3000u);
  EXPECT_EQ(record.build_id, std::string(20, 'a'));
  EXPECT_EQ(record.text, "/bin/server");
}

TEST(KernelRecordTest, SampleDepthIsNotTrusted) {
  for (const uint64_t depth : {uint64_t{3}, uint64_t{4}, UINT64_MAX}) {
    RecordBytes sample(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    sample.Add(uint64_t{9}).Add(int32_t{7}).Add(int32_t{5});
    sample.Add(uint64_t{100}).Add(uint64_t{3}).Add(depth);
    // A mark that is no address.
    sample.Add(static_cast<uint64_t>(PERF_CONTEXT_USER));
    sample.Add(uint64_t{0x10}).Add(uint64_t{0x20});
    KernelRecord record;
    EXPECT_EQ(Parse(sample.Done(), &record), depth == 3);
    if (depth != 3)
      continue;
    EXPECT_EQ(record.kind, RecordKind::kSample);
    EXPECT_FALSE(record.is_in_kernel);
    EXPECT_EQ(record.stack, (std::vector<uint64_t>{0x10, 0x20}));
  }
}

TEST(KernelRecordTest, EventsTellStacksFromWakings) {
  RecordBytes leaving(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
  leaving.Add(uint64_t{10}).Add(int32_t{7}).Add(int32_t{5});
  leaving.Add(uint64_t{100}).Add(uint64_t{3}).Add(uint64_t{1});
  KernelRecord record;
  ASSERT_TRUE(Parse(leaving.Add(uint64_t{0x10}).Done(), &record));
  EXPECT_EQ(record.kind, RecordKind::kLeaving);
  EXPECT_EQ(record.stack, std::vector<uint64_t>{0x10});
  // A size that is larger than the record, or too small for the thread.
  for (const uint32_t size : {36u, 37u, 27u, 2u, 0u, UINT32_MAX}) {
    RecordBytes waking(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    waking.Add(uint64_t{11}).Add(int32_t{7}).Add(int32_t{5});
    waking.Add(uint64_t{100}).Add(uint64_t{3}).Add(size);
    waking.Add(uint16_t{375}).Add(uint8_t{9}).Add(uint8_t{0}).Add(int32_t{5});
    waking.Add(uint64_t{0}).Add(uint64_t{0}).Add(int32_t{6});
    waking.Add(uint64_t{0});
    EXPECT_EQ(Parse(waking.Done(), &record), size == 36);
    if (size != 36)
      continue;
    EXPECT_EQ(record.kind, RecordKind::kWaking);
    EXPECT_EQ(record.tid, 5);
    EXPECT_EQ(record.subject_tid, 6);
    EXPECT_EQ(record.common_flags, 9u);
  }
}

TEST(KernelRecordTest, SamplesHaveCounters) {
  KernelSamples samples;
  samples.num_counters = 3;
  samples.counters = {{20, 0}, {21, 1}, {22, 2}};
  for (const bool counts_losses : {true, false}) {
    samples.counts_losses = counts_losses;
    for (const uint64_t number : {uint64_t{3}, uint64_t{5}, UINT64_MAX}) {
      RecordBytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
      bytes.Add(uint64_t{9}).Add(int32_t{7}).Add(int32_t{5});
      bytes.Add(uint64_t{100}).Add(uint64_t{3}).Add(number).Add(uint64_t{50});
      // The sample's own event, and two of the three counters.
      for (const auto& [value, id] :
           {std::pair<uint64_t, uint64_t>{1000, 9}, {4000, 20}, {70, 22}}) {
        bytes.Add(value).Add(id);
        if (counts_losses)
          bytes.Add(uint64_t{0});
      }
      bytes.Add(uint64_t{1}).Add(uint64_t{0x10});
      const std::string whole = bytes.Done();
      KernelRecord record;
      EXPECT_EQ(
          ParseKernelRecord(reinterpret_cast<const uint8_t*>(whole.data()),
                            whole.size(), samples, &record),
          number == 3);
      if (number != 3)
        continue;
      EXPECT_EQ(record.counters, (std::vector<uint64_t>{4000, 0, 70}));
      EXPECT_EQ(record.stack, std::vector<uint64_t>{0x10});
    }
  }
}

TEST(KernelRecordTest, EveryTruncatedPrefixIsRefused) {
  const std::string whole = RecordBytes(PERF_RECORD_LOST, 0)
                                .Add(uint64_t{9})
                                .Add(uint64_t{4})
                                .AddTrailer(5, 100)
                                .Done();
  KernelRecord record;
  ASSERT_TRUE(Parse(whole, &record));
  EXPECT_EQ(record.lost, 4u);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Parse(whole.substr(0, size), &record)) << size;
  // Short ones that say so.
  for (uint16_t size = 8; size < whole.size(); ++size) {
    std::string bytes = whole.substr(0, size);
    memcpy(bytes.data() + 6, &size, sizeof(size));
    EXPECT_FALSE(Parse(bytes, &record)) << size;
  }
}

TEST(KernelRingTest, RecordsGoOnAtTheBeginning) {
  FakeKernelRing kernel(128);
  for (uint64_t time = 1; time < 50; ++time) {
    kernel.Write(Switch(0, 5, time));
    kernel.Write(RecordBytes(/*type=*/77, 0).AddTrailer(5, time).Done());
    const std::vector<KernelRecord> records = kernel.Read();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].time, time);
  }
  EXPECT_EQ(kernel.ring.num_lost(), 0u);
}

TEST(KernelRingTest, LossesBeginAtTheRecordBefore) {
  FakeKernelRing kernel(1024);
  kernel.Write(Switch(0, 5, 100));
  kernel.Write(RecordBytes(PERF_RECORD_LOST, 0)
                   .Add(uint64_t{9})
                   .Add(uint64_t{4})
                   .AddTrailer(5, 300)
                   .Done());
  const std::vector<KernelRecord> records = kernel.Read();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].kind, RecordKind::kLost);
  EXPECT_EQ(records[1].time, 100u);
  EXPECT_EQ(records[1].lost_until, 300u);
  EXPECT_EQ(kernel.ring.num_lost(), 4u);
}

TEST(KernelRingTest, LossesThatNoRecordTellsAreAddedAtTheEnd) {
  FakeKernelRing kernel(1024);
  kernel.Write(Switch(0, 5, 100));
  kernel.Write(RecordBytes(PERF_RECORD_LOST, 0)
                   .Add(uint64_t{9})
                   .Add(uint64_t{4})
                   .AddTrailer(5, 300)
                   .Done());
  std::vector<KernelRecord> records = kernel.Read();
  records.clear();
  kernel.ring.AddUntoldLoss(4, 500, &records);
  EXPECT_TRUE(records.empty());
  kernel.ring.AddUntoldLoss(6, 500, &records);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].lost, 2u);
  EXPECT_EQ(records[0].time, 300u);
  EXPECT_EQ(records[0].lost_until, 500u);
  EXPECT_EQ(kernel.ring.num_lost(), 6u);
}

// The kernel tells a loss with the next record only, which may come late.
TEST(KernelRingTest, AFullRingIsADoubt) {
  FakeKernelRing kernel(64 * 1024);
  uint64_t time = 100;
  for (int i = 0; i < 600; ++i)
    kernel.Write(Switch(0, 5, ++time));
  EXPECT_FALSE(kernel.ring.Take(kernel.head()));
  EXPECT_EQ(kernel.Read().size(), 600u);
  for (int i = 0; i < 1600; ++i)
    kernel.Write(Switch(0, 5, ++time));
  const uint64_t last_time = time;
  EXPECT_TRUE(kernel.ring.Take(kernel.head()));
  kernel.ring.AddDoubt(last_time + 50);
  // Later records are taken before those are read.
  time += 100;
  for (int i = 0; i < 600; ++i)
    kernel.Write(Switch(0, 5, ++time));
  std::vector<KernelRecord> records = kernel.Read();
  ASSERT_EQ(records.size(), 1600u + 1 + 600);
  EXPECT_EQ(records[1600].kind, RecordKind::kLost);
  EXPECT_EQ(records[1600].lost, 0u);
  EXPECT_EQ(records[1600].time, last_time);
  EXPECT_EQ(records[1600].lost_until, last_time + 50);
  // The number comes later.
  EXPECT_EQ(kernel.ring.num_lost(), 0u);
  records.clear();
  kernel.ring.AddUntoldLoss(3, time + 60, &records);
  EXPECT_EQ(kernel.ring.num_lost(), 3u);
}

TEST(KernelRingTest, MoreIsTakenThanARingHas) {
  FakeKernelRing kernel(4096);
  uint64_t written = 0;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 50; ++j)
      kernel.Write(Switch(0, 5, ++written));
    EXPECT_FALSE(kernel.ring.num_lost());
    kernel.ring.Take(kernel.head());
    EXPECT_EQ(kernel.ring.tail(), kernel.head());
  }
  // They may be read in parts, which end where records do.
  uint64_t read = 0;
  for (size_t size = 1; kernel.ring.num_unread() != 0; size += 7) {
    std::vector<KernelRecord> records;
    kernel.ring.Read(size, &records);
    ASSERT_FALSE(records.empty());
    for (const KernelRecord& record : records)
      EXPECT_EQ(record.time, ++read);
  }
  EXPECT_EQ(read, written);
  EXPECT_EQ(kernel.ring.num_lost(), 0u);
}

TEST(KernelRingTest, WrongLengthsAreLosses) {
  for (const unsigned wrong_size : {0u, 7u, 41u, 65535u}) {
    const auto size = static_cast<uint16_t>(wrong_size);
    FakeKernelRing kernel(1024);
    std::string bytes = Switch(0, 5, 100);
    memcpy(bytes.data() + 6, &size, sizeof(size));
    kernel.Write(bytes);
    std::vector<KernelRecord> records = kernel.Read();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].kind, RecordKind::kLost);
    EXPECT_EQ(kernel.ring.num_lost(), 1u);
    // The next ones are read.
    kernel.Write(Switch(0, 5, 200));
    records = kernel.Read();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].kind, RecordKind::kIn);
  }
}

TEST(KernelRingTest, RandomBytesAreHarmless) {
  std::mt19937 random(1);
  std::vector<std::string> parts = {Switch(0, 5, 1), Switch(1 << 13, 5, 2)};
  for (const uint32_t type : {3u, 4u, 7u, 9u, 10u, 2u}) {
    parts.push_back(RecordBytes(type, 0)
                        .AddText(std::string(80, 'x'))
                        .AddTrailer(5, 3)
                        .Done());
  }
  for (int round = 0; round < 2000; ++round) {
    FakeKernelRing kernel(1024);
    for (int i = 0; i < 20; ++i) {
      std::string bytes = parts[random() % parts.size()];
      for (unsigned changes = random() % 4; changes > 0; --changes)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      kernel.Write(bytes);
      if (random() % 3 == 0)
        kernel.Read();
    }
    for (const KernelRecord& record : kernel.Read())
      EXPECT_LE(record.stack.size(), 1024u);
  }
}

}  // namespace
}  // namespace internal
}  // namespace protozero
