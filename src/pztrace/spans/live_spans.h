// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_LIVE_SPANS_H_
#define SRC_PZTRACE_SPANS_LIVE_SPANS_H_

#include <stddef.h>
#include <stdint.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "protozero/otlp/batch_sink.h"
#include "src/pbz/extended_schema.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/spans/live_span_ids.h"
#include "src/pztrace/spans/live_tasks.h"
#include "src/pztrace/spans/span_batches.h"
#include "src/pztrace/spans/span_encoder.h"
#include "src/pztrace/spans/span_sender.h"

namespace pztrace {

// Sends the spans and logs of a trace while it is recorded, as ExportSpans()
// sends those of a file, with the same ids:
//
//   Add() --packets--> a thread that reads them --batches--> a thread that
//                                                            sends them
//
// Add() waits for neither. Each of the two keeps 64 MiB at most; what comes
// then is left out and counted.
class LiveSpans {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  static constexpr uint64_t kLookMs = 500;

  // Threads commit what they have twice in |look_ms|. 0 is for tests: packets
  // that come together are a look.
  LiveSpans(const std::string& host,
            std::unique_ptr<protozero::otlp::BatchSink> sink,
            uint64_t look_ms = kLookMs);
  ~LiveSpans();
  LiveSpans(const LiveSpans&) = delete;
  LiveSpans& operator=(const LiveSpans&) = delete;

  // Reads a copy of |packets|, whole fields of a Trace.
  void Add(protozero::ConstBytes packets);
  // Says that no packets follow.
  void Finish();
  // Returns whether packets wait to be read.
  bool has_unread() const;
  // Leaves out what is not sent yet. REQUIRES: Finish() was called.
  void Interrupt();
  bool has_ended() const { return sender_.has_ended(); }

  // Prints what was sent, and what was not and why. Returns whether all was
  // sent. REQUIRES: has_ended().
  bool Report() const;

 private:
  struct Packets {
    std::string bytes;
    bool is_after_loss;
  };
  // A slice that has ended, until its ids are known.
  struct EndedSlice {
    uint64_t number;
    EncodedSpan span;
  };

  TimelineReader::Callbacks MakeCallbacks();
  void Run();
  // Waits for packets, or until it is time for a look. Returns false if no
  // packets follow.
  bool Wait(std::deque<Packets>* packets);
  void Read(const Packets& packets);
  void ReadAfterLoss(const std::string& bytes);
  void OnSlice(const Slice& slice);
  // Gets the ids of the slices of the look before, and sends those that have
  // ended.
  void Look(bool is_last);
  void AddOpenSlices();
  void AddOpenSlice(const Slice& slice);
  void SendEnded();
  void WriteTask(const LiveTask& task);

  const uint64_t look_ms_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Packets> queue_;
  size_t bytes_ = 0;  // The size of those and of what is being read.
  bool is_finished_ = false;
  bool is_interrupted_ = false;
  bool has_lost_ = false;
  uint64_t packets_lost_ = 0;

  SpanSender sender_;
  // The members that the reading thread alone uses.
  SpanBatches batches_;
  pbz::ExtendedSchema schema_;
  TimelineReader reader_;
  SpanEncoder encoder_;
  LiveTasks tasks_;
  LiveSpanIds ids_;
  std::vector<EndedSlice> ended_;
  std::vector<EndedSlice> ended_before_;
  // True after a loss, and the sequences that know of the last one.
  bool has_gaps_ = false;
  std::unordered_set<uint32_t> told_;
  uint64_t lost_ends_ = 0;
  uint64_t num_open_ = 0;
  // The number of looks without new packets, and the time of the last one.
  uint32_t idle_looks_ = 0;
  uint64_t last_look_ms_ = 0;
  size_t bytes_since_look_ = 0;
  bool is_out_of_memory_ = false;
  std::thread thread_;  // The last member: it uses the others.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_LIVE_SPANS_H_
