// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_PING_PONG_HISTOGRAM_H_
#define TEST_WORKLOADS_PING_PONG_HISTOGRAM_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <memory>

namespace protozero::workloads {

// A histogram counts durations by size. All sizes have the same relative
// precision, so that an average does not hide an event that happens once in a
// million times:
//
//   0   1   2  ...  2047 | 2048  2050 ... 4094 | 4096  4100 ... | 8192 ...
//
// Each number up to 2047 has a bucket of its own, and each power of two after
// it has equally many buckets. Allocates 440 KB in the constructor.
class LatencyHistogram {
 public:
  static constexpr int kPrecisionBits = 10;

  LatencyHistogram() : counts_(new uint64_t[kNumBuckets]()) {}

  void Add(uint64_t value) {
    ++counts_[BucketOf(value)];
    ++count_;
    sum_ += value;
    max_ = std::max(max_, value);
  }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const {
    return count_ == 0
               ? 0
               : static_cast<double>(sum_) / static_cast<double>(count_);
  }

  // Returns the value that |fraction| of all values (0 to 1) do not exceed,
  // with an error of one part in 2^kPrecisionBits. Returns 0 if there are no
  // values.
  uint64_t Quantile(double fraction) const {
    const double rank = fraction * static_cast<double>(count_);
    uint64_t below = 0;
    for (size_t bucket = 0; bucket < kNumBuckets; ++bucket) {
      below += counts_[bucket];
      if (below != 0 && static_cast<double>(below) >= rank)
        return std::min(LastOf(bucket), max_);
    }
    return max_;
  }

 private:
  static constexpr uint64_t kSteps = uint64_t{1} << kPrecisionBits;
  static constexpr size_t kNumBuckets = (64 - kPrecisionBits + 1)
                                        << kPrecisionBits;

  // Returns the number of low bits that do not count.
  static int ShiftOf(uint64_t value) {
    return value < 2 * kSteps ? 0
                              : 63 - kPrecisionBits - __builtin_clzll(value);
  }
  static size_t BucketOf(uint64_t value) {
    const int shift = ShiftOf(value);
    return (static_cast<size_t>(shift) << kPrecisionBits) +
           static_cast<size_t>(value >> shift);
  }
  // Returns the largest value in the bucket.
  static uint64_t LastOf(size_t bucket) {
    if (bucket < 2 * kSteps)
      return bucket;
    const size_t shift = (bucket >> kPrecisionBits) - 1;
    const uint64_t step = (bucket & (kSteps - 1)) + kSteps;
    return ((step + 1) << shift) - 1;
  }

  const std::unique_ptr<uint64_t[]> counts_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_PING_PONG_HISTOGRAM_H_
