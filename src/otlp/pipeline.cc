// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/pipeline.h"

#include "protozero/otlp/tracer.h"
#include "src/otlp/pipeline_state.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

uint64_t DeadlineIn(uint32_t ms) {
  return internal::ReadClock(CLOCK_MONOTONIC) + uint64_t{ms} * 1000000;
}

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options, BatchSink* sink)
    : state_(new internal::PipelineState(options, sink)) {
  RegisterPipeline(state_);
}

Pipeline::~Pipeline() {
  Shutdown(state_->options.shutdown_timeout_ms);
  UnregisterPipeline(state_);
  state_->StopPublishing();
  if (state_->IsIdle())
    delete state_;
  else
    KeepForever(state_);
}

bool Pipeline::Flush(uint32_t timeout_ms) {
  return state_->Flush(DeadlineIn(timeout_ms));
}

bool Pipeline::Shutdown(uint32_t timeout_ms) {
  return state_->Shutdown(DeadlineIn(timeout_ms));
}

void Pipeline::SetEnabled(bool enabled) {
  state_->SetEnabled(enabled);
}

Account Pipeline::Spans() const {
  return state_->GetAccount(Signal::kSpans);
}

Account Pipeline::Logs() const {
  return state_->GetAccount(Signal::kLogs);
}

std::string Pipeline::LastError() const {
  return state_->LastError();
}

namespace internal {

ScopeState* AddScope(PipelineState* pipeline,
                     std::string_view name,
                     std::string_view version,
                     std::string_view schema_url) {
  return pipeline->AddScope(name, version, schema_url);
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
