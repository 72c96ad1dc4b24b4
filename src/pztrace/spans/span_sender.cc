// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_sender.h"

#include "src/pztrace/spans/span_batches.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace otlp = protozero::otlp;

SpanSender::SpanSender(std::unique_ptr<otlp::BatchSink> sink)
    : sink_(std::move(sink)), thread_([this] { Run(); }) {}

SpanSender::~SpanSender() {
  Interrupt();
  Close();
  thread_.join();
}

otlp::ExportResult SpanSender::Export(const otlp::Batch& batch) {
  const char* reason = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.given += batch.count;
  if (bytes_ + batch.size > kMaxBytes) {
    reason = "the server takes them too slowly";
  } else if (!protozero::RunsInMemory([&] {
               queue_.push_back(
                   {batch.signal, batch.count,
                    std::string(reinterpret_cast<const char*>(batch.data),
                                batch.size)});
             })) {
    reason = "out of memory";
  }
  if (reason == nullptr) {
    bytes_ += batch.size;
    changed_.notify_one();
  } else {
    counts_.dropped += batch.count;
    if (counts_.reason.empty())
      counts_.reason = reason;
  }
  return otlp::ExportResult::Exported(batch);
}

void SpanSender::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
    if (queue_.empty())
      break;
    const Queued& first = queue_.front();
    lock.unlock();
    // Only this thread takes the first one away.
    const otlp::ExportResult result = sink_->Export(
        {first.signal, reinterpret_cast<const uint8_t*>(first.bytes.data()),
         first.bytes.size(), first.count, BatchDeadline()});
    lock.lock();
    counts_.exported += result.exported;
    counts_.rejected += result.rejected;
    counts_.dropped += first.count - result.exported - result.rejected;
    // Later ones often say no more than that it was interrupted.
    if (result.reason != nullptr && counts_.reason.empty())
      counts_.reason = result.reason;
    bytes_ -= first.bytes.size();
    queue_.pop_front();
  }
  has_ended_ = true;
}

void SpanSender::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
}

void SpanSender::Interrupt() {
  sink_->Interrupt();
}

bool SpanSender::has_ended() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_ended_;
}

SpanSender::Counts SpanSender::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace pztrace
