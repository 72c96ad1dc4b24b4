// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_STACK_SAMPLES_H_
#define SRC_PZTRACE_EVENTS_STACK_SAMPLES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/tracing/trace_reader.h"

namespace pztrace {

// The stacks of threads at moments, which a recorder has sampled. Stacks are
// paths in one tree of callsites, from the outermost frame on.
class StackSamples {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A mapped file.
  struct Mapping {
    std::string path;
    std::string build_id;  // Bytes.
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t exact_offset = 0;
    uint64_t load_bias = 0;
  };
  struct Frame {
    std::string name;  // Empty if it is not known.
    uint32_t mapping = kNone;
    uint64_t rel_pc = 0;
    std::string source;
    uint32_t line = 0;
  };
  struct Callsite {
    uint32_t parent;  // The callsite of the caller, or kNone.
    uint32_t frame;
    uint32_t depth;
  };
  // The quantity that is sampled.
  struct Counter {
    std::string name;
    // True if samples say what ran: they are taken by the time of threads on
    // processors, or by what they do there.
    bool is_of_running = true;
    // True if weights are known to be nanoseconds.
    bool is_time = false;
    // True if samples have the stacks with which threads begin to wait.
    bool is_of_waits = false;
  };
  struct Sample {
    uint64_t time_ns;
    uint64_t weight;  // In the unit of the sampling, mostly nanoseconds.
    int64_t tid;
    uint32_t pid;
    uint32_t callsite;  // kNone without a stack.
    uint32_t cpu;       // kNone if it is not known.
    uint8_t mode;       // A StackSample.Mode.
    bool has_error;     // True if the stack is not whole.
    uint8_t counter;    // The number of its Counter.
  };
  static_assert(sizeof(Sample) == 40, "many are kept");

  // The counts of a processor in some time; 0 where they are not known.
  struct Counts {
    uint64_t cycles = 0;
    uint64_t instructions = 0;
    uint64_t cache_misses = 0;
  };

  // Reads a packet, unless it is neither a sample nor has symbols.
  void Add(const protozero::KernelPacket& packet);
  // Puts samples in the order of threads and times, and names frames whose
  // symbols stand alone. Call it once, after the last packet.
  void Finish();

  bool is_empty() const { return samples_.empty(); }
  const std::vector<Sample>& samples() const { return samples_; }
  const Counter& CounterOf(const Sample& sample) const {
    return counters_[sample.counter];
  }
  // Returns the running time that a sample stands for; 0 if it is not known.
  uint64_t time_period_ns() const { return time_period_ns_; }
  const std::vector<Callsite>& callsites() const { return callsites_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<Mapping>& mappings() const { return mappings_; }

  // Returns the samples of a thread in that time: the first one, and the one
  // after the last. REQUIRES: Finish() was called.
  std::pair<size_t, size_t> Find(int64_t tid,
                                 uint64_t begin_ns,
                                 uint64_t end_ns) const;

  // Returns the sums of the counts that a thread's samples have in that time.
  // REQUIRES: Finish() was called.
  Counts CountsOf(int64_t tid, uint64_t begin_ns, uint64_t end_ns) const;

  // Returns the name of a frame, or a text such as "libc.so.6+0x1234".
  std::string TextOf(const Frame& frame) const;
  // Returns the innermost frames of a stack, the innermost first.
  std::vector<std::string> StackOf(uint32_t callsite, size_t limit) const;

 private:
  // A place in a file: its path, its build id and the address.
  using Place = std::tuple<std::string, std::string, uint64_t>;
  // The callsites and counters of a sequence by the numbers that packets use.
  struct Sequence {
    uint64_t num_clears = 0;
    std::unordered_map<uint64_t, uint32_t> callsites = {};
    std::unordered_map<uint64_t, uint8_t> counters = {};
  };
  using FrameKey =
      std::tuple<std::string, uint32_t, uint64_t, std::string, uint32_t>;
  using MappingKey = std::tuple<std::string, std::string, uint64_t, uint64_t>;

  void AddSymbols(protozero::ConstBytes bytes);
  void Symbolize();
  void AddCounts(const protozero::KernelPacket& packet, int64_t tid);
  Sequence& SequenceOf(const protozero::KernelPacket& packet);
  uint8_t CounterOf(const protozero::KernelPacket& packet, uint64_t iid);
  uint8_t AddCounter(protozero::ConstBytes descriptor);
  uint32_t CallsiteOf(const protozero::KernelPacket& packet, uint64_t iid);
  uint32_t InlineCallsiteOf(protozero::ConstBytes stack);
  uint32_t FrameOf(const protozero::KernelPacket& packet, uint64_t iid);
  uint32_t MappingOf(const protozero::KernelPacket& packet, uint64_t iid);
  uint32_t AddFrame(Frame frame);
  uint32_t AddCallsite(uint32_t parent, uint32_t frame);

  std::vector<Sample> samples_;
  // The first one is that of samples that do not say it.
  std::vector<Counter> counters_ = std::vector<Counter>(1);
  uint64_t time_period_ns_ = 0;
  // The counts of the samples that have some.
  struct CountedSample {
    int64_t tid;
    uint64_t time_ns;
    Counts counts;
  };
  std::vector<CountedSample> counted_;
  std::vector<Callsite> callsites_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> callsite_ids_;
  std::vector<Frame> frames_;
  std::map<FrameKey, uint32_t> frame_ids_;
  std::vector<Mapping> mappings_;
  std::map<MappingKey, uint32_t> mapping_ids_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  // The functions at a place. An inlined one comes before its caller.
  std::map<Place, std::vector<Frame>> symbols_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_STACK_SAMPLES_H_
