// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/tracers/samples.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace protozero {
namespace bench {
namespace {

Sample SampleOf(double ns, int64_t preemptions = 0) {
  Sample sample;
  sample.ns_per_event = ns;
  sample.disturbances.preemptions = preemptions;
  return sample;
}

TEST(RowTest, MeansOfRoundsCountOnce) {
  Row row;
  // The means are 20, 4 and 6; the median of all samples would be 5.
  for (const double ns : {1., 1., 58.})
    row.Add(0, SampleOf(ns));
  row.Add(1, SampleOf(4));
  for (const double ns : {5., 7.})
    row.Add(2, SampleOf(ns));
  EXPECT_EQ(row.ns_per_event(), 6);
  EXPECT_EQ(row.size(), 6u);
}

TEST(RowTest, EvenNumberOfRoundsHasTheMiddle) {
  Row row;
  for (const int round : {1, 2, 4, 10})
    row.Add(round, SampleOf(round));
  EXPECT_EQ(row.ns_per_event(), 3);
}

TEST(RowTest, PreemptedSamplesAreLeftOutAndCounted) {
  Row row;
  row.Add(0, SampleOf(10));
  row.Add(0, SampleOf(1000, 1));
  row.Add(1, SampleOf(1000, 2));
  EXPECT_EQ(row.ns_per_event(), 10);
  EXPECT_EQ(row.left_out(), 2u);
  EXPECT_EQ(row.size(), 3u);
}

TEST(RowTest, NothingThatCountsIsNotANumber) {
  Row row;
  EXPECT_TRUE(isnan(row.ns_per_event()));
  EXPECT_EQ(row.page_faults_per_sample(), 0);
  row.Add(0, SampleOf(10, 1));
  EXPECT_TRUE(isnan(row.ns_per_event()));
}

TEST(RowTest, WaitsAreTheTracersOwn) {
  Sample sample = SampleOf(10);
  sample.disturbances.waits = 2;
  sample.disturbances.page_faults = 3;
  Row row;
  row.Add(0, sample);
  row.Add(0, SampleOf(20));
  EXPECT_EQ(row.ns_per_event(), 15);
  EXPECT_EQ(row.left_out(), 0u);
  EXPECT_EQ(row.waits(), 2);
  EXPECT_EQ(row.page_faults_per_sample(), 1.5);
}

TEST(SingleCallsTest, PercentilesAreDurationsOfCalls) {
  SingleCalls calls;
  for (int i = 1000; i > 0; --i)
    calls.Add(SampleOf(i));
  EXPECT_EQ(calls.Percentile(0), 1);
  EXPECT_EQ(calls.Percentile(50), 500);
  EXPECT_EQ(calls.Percentile(99), 990);
  EXPECT_EQ(calls.Percentile(99.9), 999);
  EXPECT_EQ(calls.Percentile(99.99), 1000);
  EXPECT_EQ(calls.Percentile(100), 1000);
}

TEST(SingleCallsTest, PreemptedCallsAreLeftOutAndCounted) {
  SingleCalls calls;
  EXPECT_TRUE(isnan(calls.Percentile(50)));
  calls.Add(SampleOf(7));
  calls.Add(SampleOf(1e6, 1));
  EXPECT_EQ(calls.Percentile(100), 7);
  EXPECT_EQ(calls.left_out(), 1u);
  EXPECT_EQ(calls.size(), 2u);
}

TEST(DisturbancesTest, FaultsAndWaitsOfTheThreadAreSeen) {
  const Disturbances before = Disturbances::OfThisThread();
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  memset(memory, 1, page);
  usleep(1000);
  const Disturbances after = Disturbances::OfThisThread().Since(before);
  EXPECT_GE(after.page_faults, 1);
  EXPECT_GE(after.waits, 1);
  munmap(memory, page);
}

}  // namespace
}  // namespace bench
}  // namespace protozero
