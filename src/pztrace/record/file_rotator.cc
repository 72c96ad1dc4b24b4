// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/file_rotator.h"

namespace pztrace {

namespace {

using protozero::TracingService;
using protozero::TracingSessionID;

// The longest time that a thread is in the middle of an event, unless it is
// stopped.
constexpr uint32_t kMaxEventMs = 1000;

uint32_t TimeUntil(uint64_t end, uint64_t now) {
  return now < end ? static_cast<uint32_t>(end - now) : 0;
}

}  // namespace

FileRotator::FileRotator(const Rotation& rotation,
                         TracingService* service,
                         TracingSessionID session,
                         TraceDrain* drain,
                         TraceOutput* output)
    : rotation_(rotation),
      service_(service),
      session_(session),
      drain_(drain),
      output_(output),
      begun_ms_(service->NowMs()) {}

uint32_t FileRotator::Run() {
  if (!rotation_.is_on())
    return UINT32_MAX;
  const uint64_t now = service_->NowMs();
  if (step_ == kNone && IsDue(now)) {
    begun_ms_ = now;
    Flush(kFlushesBefore);
  }
  if (step_ == kFlushesBefore && is_flushed_) {
    // The packets so far, such as the header, belong to the old file.
    const bool ok = drain_->ReadAll() && output_->BeginNext() &&
                    service_->RestartTrace(session_);
    step_ = kWaits;
    wait_end_ms_ = now + kMaxEventMs;
    StopUnless(ok);
  }
  if (step_ == kWaits && now >= wait_end_ms_)
    Flush(kFlushesAfter);
  if ((step_ == kFlushesAfter && is_flushed_) ||
      (output_->has_two() && output_->have_all_gone_on())) {
    step_ = kNone;
    StopUnless(drain_->ReadAll() && output_->FinishOld());
  }
  switch (step_) {
    case kNone:
      return rotation_.ms == 0 ? UINT32_MAX
                               : TimeUntil(begun_ms_ + rotation_.ms, now);
    case kWaits:
      return TimeUntil(wait_end_ms_, now);
    case kFlushesBefore:
    case kFlushesAfter:
      break;
  }
  return UINT32_MAX;
}

bool FileRotator::IsDue(uint64_t now) const {
  return (rotation_.bytes != 0 &&
          output_->bytes_of_file() >= rotation_.bytes) ||
         (rotation_.ms != 0 && now >= begun_ms_ + rotation_.ms);
}

void FileRotator::Flush(Step step) {
  step_ = step;
  is_flushed_ = false;
  // An earlier flush may end after this one has begun.
  const auto on_done = [this, flush = ++last_flush_](bool) {
    is_flushed_ = is_flushed_ || flush == last_flush_;
  };
  if (service_->Flush(session_, 0, 0, on_done) == 0)
    is_flushed_ = true;
}

void FileRotator::StopUnless(bool ok) {
  if (ok)
    return;
  step_ = kNone;
  service_->StopTracing(session_);
}

}  // namespace pztrace
