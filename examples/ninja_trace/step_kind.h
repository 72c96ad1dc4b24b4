// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_STEP_KIND_H_
#define EXAMPLES_NINJA_TRACE_STEP_KIND_H_

#include <stddef.h>

#include <string_view>

namespace ninja_trace {

// The kind of a build step, as far as the name of its output tells.
enum class StepKind {
  kCompile,
  kArchive,
  kLink,
  kGenerate,
  kStamp,
  kOther,
};
inline constexpr size_t kStepKindCount = 6;

StepKind GuessStepKind(std::string_view output);

// Returns the category of the step's slice in the trace.
const char* StepKindName(StepKind kind);

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_STEP_KIND_H_
