// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/loss_reason.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

const char* LossReasonToString(LossReason reason) {
  switch (reason) {
    case LossReason::kUnknown:
      return "reason unknown";
    case LossReason::kMemoryFull:
      return "shared memory full";
    case LossReason::kStallTimedOut:
      return "shared memory full until the wait was over";
    case LossReason::kTooLarge:
      return "too large";
    case LossReason::kNoWriterID:
      return "too many writers";
    case LossReason::kWriterBusy:
      return "begun within another one";
    case LossReason::kOverwritten:
      return "overwritten in the buffer";
    case LossReason::kDiscarded:
      return "no room in the buffer";
    case LossReason::kIncomplete:
      return "not finished";
    case LossReason::kInvalid:
      return "not valid";
    case LossReason::kOutOfMemory:
      return "for want of memory";
    case LossReason::kNotWritten:
      return "could not be written";
  }
  return "not a reason";
}

PROTOZERO_ABI_END
}  // namespace protozero
