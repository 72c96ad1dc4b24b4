// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_SENDER_H_
#define SRC_PZTRACE_SPANS_SPAN_SENDER_H_

#include <stddef.h>
#include <stdint.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "protozero/otlp/batch_sink.h"

namespace pztrace {

// Sends batches on a thread of its own, so that the one that makes them never
// waits for a server. Keeps kMaxBytes of them at most; further ones are
// dropped.
//
//   given = exported + rejected + dropped, when the thread has ended
class SpanSender final : public protozero::otlp::BatchSink {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  struct Counts {
    uint64_t given = 0;
    uint64_t exported = 0;
    uint64_t rejected = 0;
    uint64_t dropped = 0;
    std::string reason;  // The first one.
  };

  explicit SpanSender(std::unique_ptr<protozero::otlp::BatchSink> sink);
  ~SpanSender() override;

  // Takes a copy of the batch. Its fate is in counts().
  protozero::otlp::ExportResult Export(
      const protozero::otlp::Batch& batch) override;

  // Ends the thread when it has sent everything. Nothing may be exported then.
  void Close();
  // Drops what has not been sent. The thread ends soon.
  void Interrupt() override;
  bool has_ended() const;
  Counts counts() const;

 private:
  struct Queued {
    protozero::otlp::Signal signal;
    uint32_t count;
    std::string bytes;
  };

  void Run();

  const std::unique_ptr<protozero::otlp::BatchSink> sink_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The batches, the one that is being sent in front, and their size.
  std::deque<Queued> queue_;
  size_t bytes_ = 0;
  bool is_closed_ = false;
  bool has_ended_ = false;
  Counts counts_;
  std::thread thread_;  // The last member: it uses the others.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_SENDER_H_
