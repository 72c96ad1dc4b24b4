// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The triggers of sessions.

#include <deque>

#include "src/tracing/service/sessions.h"
#include "src/tracing/service/visit_counter.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using TriggerMode = TraceConfig::TriggerMode;

namespace {

constexpr uint64_t kDayMs = uint64_t{24} * 60 * 60 * 1000;

}  // namespace

void Sessions::SetUpTriggers(Session* session) {
  const TraceConfig& config = session->config;
  if (config.trigger_mode == TriggerMode::kNone)
    return;
  session->triggers.effects.resize(config.triggers.size());
  session->triggers.waits_for_start =
      config.trigger_mode == TriggerMode::kStart;
  // The duration of a session begins with the session.
  if (session->triggers.waits_for_start)
    session->times.stop = kNever;
  if (config.trigger_timeout_ms != 0) {
    session->times.trigger_timeout = (*clock_)() + config.trigger_timeout_ms;
  }
}

void Sessions::ActivateTrigger(const std::string& name) {
  for (auto& it : sessions_) {
    CountVisit();
    Session& session = it.second;
    const TraceConfig& config = session.config;
    if (config.trigger_mode == TriggerMode::kNone ||
        session.times.trigger != kNever ||
        (session.state != TracingService::kStarting &&
         session.state != TracingService::kStarted)) {
      continue;
    }
    for (size_t i = 0; i < config.triggers.size(); ++i) {
      CountVisit();
      if (config.triggers[i].name == name) {
        PullTrigger(i, &session);
        break;
      }
    }
  }
}

void Sessions::PullTrigger(size_t index, Session* session) {
  const TraceConfig::Trigger& trigger = session->config.triggers[index];
  const TriggerMode mode = session->config.trigger_mode;
  if (mode == TriggerMode::kStart && !session->triggers.waits_for_start)
    return;
  const uint64_t now = (*clock_)();
  if (trigger.max_per_day != 0) {
    std::deque<uint64_t>& effects = session->triggers.effects[index];
    while (!effects.empty() && now - effects.front() >= kDayMs)
      effects.pop_front();
    // Without memory to count, it has no effect.
    if (effects.size() >= trigger.max_per_day ||
        !RunsInMemory([&] { effects.push_back(now); })) {
      return;
    }
  }
  if (mode != TriggerMode::kStart) {
    session->triggers.pending = index;
    if (mode == TriggerMode::kStop)
      session->times.trigger_timeout = kNever;
    session->times.trigger = now + trigger.delay_ms;
    return;
  }
  session->triggers.waits_for_start = false;
  session->times.trigger_timeout = kNever;
  const uint32_t duration_ms =
      trigger.delay_ms != 0 ? trigger.delay_ms : session->config.duration_ms;
  if (duration_ms != 0)
    session->times.stop = now + duration_ms;
  // Without memory, it records what could be set up.
  RunsInMemory([&] { data_sources_->SetupSession(session); });
  UpdateState(session);
}

void Sessions::RunTriggers(uint64_t now, Session* session) {
  SessionTimes& times = session->times;
  if (times.trigger <= now) {
    if (session->config.trigger_mode == TriggerMode::kStop)
      Stop(session);
    else
      AskForCopy(session);
  }
  if (times.trigger_timeout <= now)
    Stop(session);
}

void Sessions::AskForCopy(Session* session) {
  session->times.trigger = kNever;
  if (session->consumer == nullptr)
    return;
  const size_t trigger = session->triggers.pending;
  session->consumer->OnCloneTrigger(session->id,
                                    session->config.triggers[trigger].name);
}

void Sessions::EndTriggers(Session* session) {
  SessionTimes& times = session->times;
  // Nothing that a later copy would have is recorded anymore.
  if (times.trigger != kNever &&
      session->config.trigger_mode == TriggerMode::kClone) {
    AskForCopy(session);
  }
  times.trigger = kNever;
  times.trigger_timeout = kNever;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
