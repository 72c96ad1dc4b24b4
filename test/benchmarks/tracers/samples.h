// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The arithmetic of tracer_rows: which samples count, means and percentiles.

#ifndef TEST_BENCHMARKS_TRACERS_SAMPLES_H_
#define TEST_BENCHMARKS_TRACERS_SAMPLES_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace protozero {
namespace bench {

// The interruptions of a thread by the system.
struct Disturbances {
  // Returns those of the calling thread since it began.
  static Disturbances OfThisThread();

  Disturbances Since(const Disturbances& before) const;

  int64_t preemptions = 0;  // Another thread got the processor.
  int64_t waits = 0;        // The thread gave it away, and slept.
  int64_t page_faults = 0;
};

// A run of events that is timed as a whole, or a single one.
struct Sample {
  // A preemption is no work of the tracer. A wait is: it counts.
  bool counts() const { return disturbances.preemptions == 0; }

  double ns_per_event = 0;
  Disturbances disturbances;
};

// The samples of one row. Rounds are minutes apart if the machine is busy.
class Row {
 public:
  void Add(int round, const Sample& sample);

  // Returns the median of the rounds' means, in nanoseconds. Not the median of
  // the samples: page faults and changes of buffers, which are in some samples
  // only, are to count. NaN if no sample counts.
  double ns_per_event() const;
  // Returns the mean over all samples, also those that are left out.
  double page_faults_per_sample() const;
  int64_t waits() const;
  size_t left_out() const;
  size_t size() const { return samples_.size(); }

 private:
  struct InRound {
    int round;
    Sample sample;
  };
  std::vector<InRound> samples_;
};

// The durations of single calls.
class SingleCalls {
 public:
  void Add(const Sample& call);

  // Returns the least duration that at least |percent| of the calls that count
  // do not exceed. NaN if there are none.
  double Percentile(double percent);
  size_t left_out() const { return left_out_; }
  size_t size() const { return ns_.size() + left_out_; }

 private:
  std::vector<double> ns_;
  size_t left_out_ = 0;
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_TRACERS_SAMPLES_H_
