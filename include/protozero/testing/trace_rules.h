// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TESTING_TRACE_RULES_H_
#define INCLUDE_PROTOZERO_TESTING_TRACE_RULES_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/tracing/trace_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// An expectation of a trace. In words, with names of slices and instants:
//
//   exactly 3 frame                  "at least", "at most": the same
//   in each request exactly 1 db     on the track of each slice "request"
//   never lock
//   never lock inside render
//   99 % of frame under 16 ms        units: ns, us, ms, s
//   slice frame ran < 8 ms           also: ready, waited
//   all tasks ended
//   nothing lost
//
// Times depend on the machine: a share that is too small is reported. It breaks
// the rule if "strictly" stands before it. A name with spaces is in quotes. A
// '#' begins a comment.
//
// The thread of a slice ran, was ready (it could run, but had no processor) and
// waited for so long, which a trace says that has the states of threads. A
// slice of which that is unknown keeps the rule, but one of them has to be
// known.
struct TraceRule {
  enum class Kind : uint8_t {
    kExactly,
    kAtLeast,
    kAtMost,
    kNever,
    kShare,
    kTime,
    kAllTasksEnded,
    kNothingLost,
  };

  // The parts of a slice's time.
  enum class Part : uint8_t { kRan, kReady, kWaited };

  // The kind, which says which of the other fields matter.
  Kind kind = Kind::kNothingLost;
  std::string name = {};  // The events that are counted or measured.
  // The name of the slices that events are counted in. Null for the whole
  // trace.
  std::optional<std::string> outer = {};
  uint64_t number = 0;  // The number of events, for the first three kinds.
  // The share of the slices that have to be shorter than |limit_ns|.
  double percent = 0;
  uint64_t limit_ns = 0;
  bool is_strict = false;
  Part part = Part::kRan;  // Each slice has less of it than |limit_ns|.
};

// Returns the rule in words.
std::string TraceRuleToText(const TraceRule& rule);

// Returns the rule that |words| say. Null if they say none; |error| gets the
// reason, and what to write instead.
std::optional<TraceRule> ParseTraceRule(std::string_view words,
                                        std::string* error);

namespace trace_testing {

// Returns the number of the calling thread, as TrackInfo::tid has it.
int64_t ThisThread();

}  // namespace trace_testing

// The verdict on one rule for a trace.
struct TraceVerdict {
  enum class Kind : uint8_t { kKept, kReported, kBroken };

  // The answer.
  Kind kind = Kind::kKept;
  // The events that break the rule, a line each, with what surrounds them. For
  // a share, the numbers in any case.
  std::string text = {};
};

// The events of a trace, to be compared with rules.
//
//   TraceEvents events;
//   if (!events.reader().ReadFile("session.pftrace"))
//     return events.reader().error();
//   const TraceVerdict verdict = events.Check(rule);
//
// An event is inside a slice if the slice is open on its track when the event
// begins. Slices without an end last until the end of the trace. They are not
// expected to have had all their events yet, nor to be short.
//
// It keeps 32 bytes for each event. One thread at a time.
class TraceEvents {
 public:
  // The events that are kept.
  struct Options {
    // The rules that Check() will get; only events that they name are kept. If
    // empty, all are.
    std::vector<TraceRule> rules = {};
    // Returns false for threads whose events are not kept.
    std::function<bool(const TrackInfo& thread)> wants_thread = {};
  };

  // Begins without events.
  TraceEvents();
  explicit TraceEvents(Options options);
  ~TraceEvents();
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;

  // Returns the reader that has to read the trace.
  TraceReader& reader();

  // Returns whether the trace keeps the rule. What the rule says of each slice
  // of a name, or of all tasks, is broken if there is none. REQUIRES: the
  // reader has finished.
  TraceVerdict Check(const TraceRule& rule) const;

  // Returns the number of events that are kept. REQUIRES: the same.
  size_t size() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TESTING_TRACE_RULES_H_
