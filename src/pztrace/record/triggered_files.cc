// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/triggered_files.h"

#include <stdio.h>
#include <unistd.h>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/summary_text.h"
#include "src/pztrace/trace_file/completeness.h"

namespace pztrace {

using protozero::TracingService;

uint32_t TriggeredFiles::Run() {
  is_requested_ |= session_->TakeTrigger();
  // A session that stops does not have all yet.
  if (copy_ == 0 && is_requested_ &&
      session_->service()->GetState(session_->id()) !=
          TracingService::kStopping) {
    Begin();
  }
  if (copy_ == 0)
    return UINT32_MAX;
  switch (session_->service()->GetState(copy_)) {
    case TracingService::kStopping:
      // The service copies when the host runs.
      return UINT32_MAX;
    case TracingService::kStopped:
      break;
    default:
      program::PrintError(kProgram, "no file for the trigger: out of memory");
      copy_ = 0;
      return UINT32_MAX;
  }
  if (!output_.has_value()) {
    output_.emplace(compression_);
    output_->SetFilter(filter_);
    // With a rotation, the output puts the time into the name. It has one file.
    if (!output_->Open(path_, Rotation{0, UINT32_MAX, 0}) ||
        !output_->Begin()) {
      Finish(false);
      return UINT32_MAX;
    }
    drain_.emplace(session_->service(), copy_, &*output_, 0);
  }
  if (!drain_->ReadSome() && !output_->is_broken())
    return 0;
  Finish(!drain_->is_out_of_memory());
  return UINT32_MAX;
}

void TriggeredFiles::Begin() {
  is_requested_ = false;
  std::string error;
  copy_ = session_->service()->CloneSession(session_->id(), &error,
                                            TracingService::CopyKind::kNext);
  if (copy_ == 0) {
    program::PrintError(kProgram, "no file for the trigger: %s", error.c_str());
  }
}

void TriggeredFiles::Finish(bool is_whole) {
  const std::string summary = SummaryText(session_->service()->GetStats(copy_));
  if (output_->Close() && is_whole) {
    const std::string& name = output_->last_finished();
    fprintf(stderr, "%s: %s, %s, %s\n", name.c_str(),
            CountOf(output_->bytes(), "byte").c_str(),
            CountOf(output_->packets(), "packet").c_str(), summary.c_str());
    kept_.push_back(name);
  }
  if (num_kept_ != 0 && kept_.size() > num_kept_) {
    // This may fail: the file may have been moved before.
    unlink(kept_.front().c_str());
    kept_.pop_front();
  }
  drain_.reset();
  output_.reset();
  session_->service()->CloseSession(copy_);
  copy_ = 0;
}

}  // namespace pztrace
