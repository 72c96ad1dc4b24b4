// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RULE_MATCHER_H_
#define SRC_PZTRACE_RECORD_RULE_MATCHER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/record/recording_rule.h"

namespace pztrace {

// Looks for what rules name in a trace that is being recorded. What is in the
// packets of one look is found with the next look, or the one after it: packets
// of other threads that come later may belong before them.
//
// Its memory depends on the number of threads, tracks, different texts, and of
// live tasks that a rule names.
class RuleMatcher {
 public:
  // Gets the end of what a rule has named, on the trace's clock, and a text for
  // people: "slice request > 50ms: request took 73.1 ms".
  using OnMatch = std::function<void(uint64_t end_ns, const std::string& text)>;

  RuleMatcher(std::vector<RecordingRule> rules, OnMatch on_match);

  RuleMatcher(const RuleMatcher&) = delete;
  RuleMatcher& operator=(const RuleMatcher&) = delete;

  // Reads the next packets of the trace.
  void Read(protozero::ConstBytes packets) { reader_.Read(packets); }
  // Ends a look. Everything that programs have traced before |known_ns| has
  // been read; 0 if that is unknown. Finds what still goes on then, too.
  void EndLook(uint64_t known_ns = 0);
  // Returns whether a slice or a task that a rule names had not ended in the
  // last look.
  bool has_open() const { return has_open_ || !live_tasks_.empty(); }

 private:
  using Kind = RecordingRule::Kind;

  // A process's track and the number of its task.
  using TaskKey = std::pair<uint64_t, uint64_t>;
  // A step of a task, which waits for the earlier steps of other threads.
  struct Step {
    protozero::TaskStep::Kind kind;
    bool ends_running;
    uint64_t thread;
    TaskKey task;
    // The rule that names a spawned task, and the name; null for other steps.
    const RecordingRule* rule = nullptr;
    std::string name = {};
  };
  struct LiveTask {
    uint64_t begin_ns;
    const RecordingRule* rule;
    std::string name;
  };

  protozero::TraceReader::Callbacks MakeCallbacks();
  bool HasRule(Kind kind) const;
  void OnSlice(const protozero::Slice& slice);
  void OnEvent(const protozero::EventText& text, uint64_t end_ns);
  void OnCounter(const protozero::CounterValue& value);
  void OnStep(const protozero::TaskStep& step);
  void Apply(uint64_t time_ns, Step* step);
  void EndTask(TaskKey task, uint64_t end_ns);
  // Report what has not ended before |known_ns|, unless that is 0, and is
  // longer than a rule says.
  void FindOpenSlices(uint64_t known_ns);
  void FindOpenTasks(uint64_t known_ns);
  void Report(const RecordingRule& rule,
              uint64_t end_ns,
              const std::string& what) const {
    on_match_(end_ns, rule.text + ": " + what);
  }

  const std::vector<RecordingRule> rules_;
  const OnMatch on_match_;
  // The counters that are above the limit of a rule.
  std::set<std::pair<const RecordingRule*, uint64_t>> high_counters_;
  // The steps that wait, by their times, and the time of the last one of the
  // look before.
  std::multimap<uint64_t, Step> steps_;
  uint64_t last_step_ns_ = 0;
  std::map<TaskKey, LiveTask> live_tasks_;
  // The values of EndLook() in the last looks. What is read in a look is found
  // one look later, and steps of tasks two.
  uint64_t known_ns_[2] = {};
  bool has_open_ = false;
  // The numbers of open slices that were reported.
  std::set<uint64_t> reported_slices_;
  // The tasks that threads run.
  std::unordered_map<uint64_t, TaskKey> running_tasks_;
  protozero::TraceReader reader_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RULE_MATCHER_H_
