// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/rule_watcher.h"

#include <stddef.h>
#include <stdio.h>

#include <algorithm>

#include "protozero/const_bytes.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/track_event.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

constexpr uint64_t kNsPerMs = 1000000;
// The time between two looks. Threads commit what they have as often.
constexpr uint32_t kLookPeriodMs = 250;
// The time by which a file comes before it has to. It begins where the last one
// ends, and what came then must not be older than --before.
constexpr uint64_t kOverlapNs = 2 * kLookPeriodMs * kNsPerMs;
// The time after which it is the service's turn.
constexpr uint64_t kLookTurnMs = 20;
// The time in which programs have to answer a flush: otherwise it is not known
// what goes on in them.
constexpr uint32_t kMaxFlushMs = 1000;
// The room for what programs write between two looks.
constexpr size_t kBufferBytes = size_t{16} << 20;

}  // namespace

RuleWatcher::RuleWatcher(protozero::TracingService* service,
                         const WatchedRules& rules,
                         const StringFilter* filter)
    : service_(service),
      filter_(filter),
      trigger_(rules.trigger),
      before_ns_(rules.before_ms * kNsPerMs),
      after_ns_(rules.after_ms * kNsPerMs),
      matcher_(rules.rules, [this](uint64_t end_ns, const std::string& text) {
        OnMatch(end_ns, text);
      }) {}

RuleWatcher::~RuleWatcher() {
  service_->CloseSession(copy_);
}

bool RuleWatcher::Start(protozero::TracingSessionID session) {
  std::string error = "out of memory";
  session_ = session;
  copy_ = service_->FollowSession(session, kBufferBytes, &error);
  if (copy_ == 0)
    program::PrintError(kProgram, "no rules of --when: %s", error.c_str());
  return copy_ != 0;
}

uint32_t RuleWatcher::Run() {
  if (is_out_of_memory_)
    return UINT32_MAX;
  const uint64_t now = service_->NowMs();
  if (now < next_ms_)
    return static_cast<uint32_t>(next_ms_ - now);
  bool is_done = false;
  if (!protozero::RunsInMemory([&] {
        is_done = ReadSome();
        if (is_done) {
          EndLook();
          ActivateIfDue();
        }
      })) {
    program::PrintError(kProgram, "out of memory: --when sees no more");
    is_out_of_memory_ = true;
  }
  if (!is_done)
    return 0;
  next_ms_ = now + kLookPeriodMs;
  return kLookPeriodMs;
}

bool RuleWatcher::ReadSome() {
  const uint64_t end = service_->NowMs() + kLookTurnMs;
  bool has_more = false;
  service_->ReadPackets(copy_, [&](const uint8_t* data, size_t size) {
    matcher_.Read(protozero::ConstBytes(data, size));
    has_more = service_->NowMs() >= end;
    return !has_more;
  });
  return !has_more;
}

void RuleWatcher::EndLook() {
  matcher_.EndLook(known_ns_);
  // The next look reads all that is committed by now.
  known_ns_ = flushed_ns_;
  if (!matcher_.has_open() || is_flushing_)
    return;
  is_flushing_ = true;
  const uint64_t now_ns = protozero::TraceTimeNs();
  const auto on_done = [this, now_ns](bool success) {
    is_flushing_ = false;
    if (success)
      flushed_ns_ = now_ns;
  };
  // Quiet programs are left alone by periodic flushes, and answer this one.
  constexpr protozero::FlushFlags kFlags =
      protozero::kFlushReasonExplicit | protozero::kFlushInitiatorService
                                            << protozero::kFlushInitiatorShift;
  if (service_->Flush(session_, kMaxFlushMs, kFlags, on_done) == 0) {
    is_flushing_ = false;
  }
}

void RuleWatcher::OnMatch(uint64_t end_ns, const std::string& text) {
  if (end_ns > covered_until_ns_ && due_.empty())
    due_ = text;
}

bool RuleWatcher::LookLast() {
  if (is_out_of_memory_)
    return false;
  is_out_of_memory_ = !protozero::RunsInMemory([&] {
    while (!ReadSome()) {
    }
    matcher_.EndLook();
    // The steps that have waited for those of other threads wait no longer.
    matcher_.EndLook();
  });
  const bool is_due = !due_.empty();
  if (is_due)
    PrintDue();
  return is_due;
}

void RuleWatcher::ActivateIfDue() {
  const uint64_t now_ns = protozero::TraceTimeNs();
  if (due_.empty() || now_ns < next_file_ns_)
    return;
  PrintDue();
  service_->ActivateTrigger(trigger_);
  covered_until_ns_ = now_ns + after_ns_;
  // The file of a match after this moment has to reach back to it, although
  // the next look comes a period later.
  next_file_ns_ =
      covered_until_ns_ + before_ns_ - std::min(before_ns_, kOverlapNs);
}

void RuleWatcher::PrintDue() {
  const std::string shown =
      filter_ != nullptr ? filter_->FilterText(due_) : due_;
  fprintf(stderr, "%s\n",
          shown.empty() ? "a rule of --when" : program::Shown(shown).c_str());
  due_.clear();
}

void RuleWatcher::ReportLosses() const {
  uint64_t lost = 0;
  for (const protozero::TraceBufferStats& buffer :
       service_->GetStats(copy_).buffers) {
    lost += buffer.lost.of(protozero::LossReason::kOverwritten) +
            buffer.lost.of(protozero::LossReason::kOutOfMemory);
  }
  if (lost != 0) {
    program::PrintError(kProgram, "--when has not seen %s",
                        program::CountOf(lost, "packet").c_str());
  }
}

}  // namespace pztrace
