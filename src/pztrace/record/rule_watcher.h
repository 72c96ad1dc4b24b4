// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RULE_WATCHER_H_
#define SRC_PZTRACE_RECORD_RULE_WATCHER_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/recording_rule.h"
#include "src/pztrace/record/rule_matcher.h"
#include "src/pztrace/trace_file/string_filter.h"

namespace pztrace {

// Activates a trigger of a session when the session records what a rule names.
// It reads a copy of what comes into the session's buffers, which asks nothing
// of producers.
//
// Matches in the file of the last activation need no other file. The next one
// comes as late as it can without a gap between both: so the files have
// everything that rules name, and a burst makes one or two.
class RuleWatcher {
 public:
  // Prints texts as |filter| leaves them; null for all. REQUIRES: |service| and
  // |filter| outlive it.
  RuleWatcher(protozero::TracingService* service,
              const WatchedRules& rules,
              const StringFilter* filter);
  ~RuleWatcher();

  RuleWatcher(const RuleWatcher&) = delete;
  RuleWatcher& operator=(const RuleWatcher&) = delete;

  // Begins to watch a session. Returns false, and has printed why, if that is
  // not possible.
  bool Start(protozero::TracingSessionID session);
  // To be called between two calls of the host. Returns how many milliseconds
  // the host may wait, UINT32_MAX for any time.
  uint32_t Run();
  // Looks once more, when the session has stopped. Returns whether there is a
  // match that needs a file, and has printed it.
  bool LookLast();
  // Says what it has not seen, because programs were faster than it.
  void ReportLosses() const;

 private:
  // Reads a part of what there is. Returns whether that was all.
  bool ReadSome();
  // Ends a look, and asks programs to commit what the next one needs to see.
  void EndLook();
  void OnMatch(uint64_t end_ns, const std::string& text);
  void ActivateIfDue();
  // Prints the match that needs a file, and forgets it.
  void PrintDue();

  protozero::TracingService* const service_;
  const StringFilter* const filter_;
  const std::string trigger_;
  const uint64_t before_ns_;
  const uint64_t after_ns_;
  RuleMatcher matcher_;
  protozero::TracingSessionID session_ = 0;
  protozero::TracingSessionID copy_ = 0;
  // True while programs have not answered, and the times of the last request
  // that all of them have answered: now, and when the last look ended.
  bool is_flushing_ = false;
  uint64_t flushed_ns_ = 0;
  uint64_t known_ns_ = 0;
  uint64_t next_ms_ = 0;
  // The first match that needs a file; empty for none.
  std::string due_;
  // The end of the last file, on the trace's clock, and the time from which on
  // there may be another one.
  uint64_t covered_until_ns_ = 0;
  uint64_t next_file_ns_ = 0;
  bool is_out_of_memory_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RULE_WATCHER_H_
