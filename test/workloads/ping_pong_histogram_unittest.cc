// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/ping_pong_histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::workloads {
namespace {

TEST(LatencyHistogramTest, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (uint64_t i = 1; i <= 1000; ++i)
    histogram.Add(i);
  EXPECT_EQ(histogram.Quantile(0), 1u);
  EXPECT_EQ(histogram.Quantile(0.001), 1u);
  EXPECT_EQ(histogram.Quantile(0.5), 500u);
  EXPECT_EQ(histogram.Quantile(0.999), 999u);
  EXPECT_EQ(histogram.Quantile(1), 1000u);
  EXPECT_EQ(histogram.max(), 1000u);
  EXPECT_EQ(histogram.mean(), 500.5);
}

// Each value is alone in a histogram. The values are around all powers of two.
TEST(LatencyHistogramTest, LargeValuesAreAlmostExact) {
  for (int bit = 0; bit < 64; ++bit) {
    for (uint64_t offset : {0u, 1u, 2u}) {
      const uint64_t value = (uint64_t{1} << bit) - 1 + offset;
      LatencyHistogram histogram;
      histogram.Add(value);
      histogram.Add(UINT64_MAX);
      const uint64_t median = histogram.Quantile(0.5);
      EXPECT_GE(median, value);
      EXPECT_LE(median - value, value >> LatencyHistogram::kPrecisionBits);
    }
  }
}

TEST(LatencyHistogramTest, QuantilesAreThoseOfTheSortedValues) {
  std::mt19937_64 random(1);
  LatencyHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100000; ++i) {
    values.push_back(random() >> (random() % 64));
    histogram.Add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (double fraction : {0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const uint64_t exact = values[static_cast<size_t>(
        std::ceil(fraction * static_cast<double>(values.size())) - 1)];
    const uint64_t quantile = histogram.Quantile(fraction);
    EXPECT_GE(quantile, exact);
    EXPECT_LE(quantile - exact, exact >> LatencyHistogram::kPrecisionBits);
  }
  EXPECT_EQ(histogram.max(), values.back());
}

}  // namespace
}  // namespace protozero::workloads
