// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/trace_drain.h"

#include <stddef.h>

#include <algorithm>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using protozero::TracingService;

// The time after which it is the service's turn.
constexpr uint64_t kTurnMs = 20;
// The number of reads in a period. Flushes have a period of their own, so with
// several reads the packets of a flush are soon in the file.
constexpr uint32_t kReadsPerPeriod = 4;

}  // namespace

TraceDrain::TraceDrain(TracingService* service,
                       protozero::TracingSessionID session,
                       TraceOutput* output,
                       uint32_t period_ms)
    : service_(service),
      session_(session),
      output_(output),
      period_ms_(period_ms == 0
                     ? 0
                     : std::max<uint32_t>(1, period_ms / kReadsPerPeriod)),
      next_ms_(service->NowMs() + period_ms_) {}

uint32_t TraceDrain::Run() {
  if (period_ms_ == 0 || output_->is_broken() || is_out_of_memory_)
    return UINT32_MAX;
  const uint64_t now = service_->NowMs();
  if (now < next_ms_)
    return static_cast<uint32_t>(next_ms_ - now);
  const uint64_t bytes_before = output_->bytes();
  const bool is_done = ReadSome();
  if (output_->is_broken() || is_out_of_memory_) {
    service_->StopTracing(session_);
    return UINT32_MAX;
  }
  if (!is_done)
    return 0;
  next_ms_ = now + period_ms_;
  // When the service has received something, this is called again.
  return output_->bytes() == bytes_before ? UINT32_MAX : period_ms_;
}

bool TraceDrain::ReadSome() {
  output_->WriteKept();
  if (output_->has_kept())
    return false;
  const uint64_t end = service_->NowMs() + kTurnMs;
  bool has_more = false;
  bool is_complete = false;
  protozero::RunsInMemory([&] {
    is_complete =
        service_->ReadPackets(session_, [&](const uint8_t* data, size_t size) {
          output_->Write(data, size);
          has_more = !output_->is_broken() &&
                     (output_->has_kept() || service_->NowMs() >= end);
          // Packets that a broken file does not take are still read, and
          // counted.
          return !has_more;
        });
  });
  is_out_of_memory_ = is_out_of_memory_ || (!is_complete && !has_more);
  if (has_more)
    return false;
  if (!protozero::RunsInMemory([&] { output_->Flush(); }))
    is_out_of_memory_ = true;
  return !output_->has_kept();
}

bool TraceDrain::ReadAll() {
  while (!ReadSome()) {
  }
  return !output_->is_broken() && !is_out_of_memory_;
}

}  // namespace pztrace
