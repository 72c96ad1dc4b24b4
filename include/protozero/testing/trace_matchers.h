// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TESTING_TRACE_MATCHERS_H_
#define INCLUDE_PROTOZERO_TESTING_TRACE_MATCHERS_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/testing/trace_rules.h"
#include "protozero/tracing/local_trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Records the events of a block of code, and expects something of them. For
// GoogleTest 1.11 and later; the header includes nothing of it.
//
//   using namespace protozero::trace_testing;
//   const RecordedTrace trace = Record([] { Serve(10); });
//   EXPECT_THAT(trace, InEach("request", Exactly(1, "db")));
//   EXPECT_THAT(trace, Never("lock", Inside("render")));
//   EXPECT_THAT(trace, Share(0.99, "frame", Under(16ms)));
//   EXPECT_THAT(trace, Ran("frame", Under(8ms)));
//   EXPECT_THAT(trace, AllTasksEnded());
//   EXPECT_THAT(trace, NothingLost());
//
// Times such as 16ms are of std::chrono_literals.
// "protozero/testing/trace_rules.h" says what each of them means. A share that
// is too small is printed, and fails only inside Strictly().
namespace trace_testing {

// The events that Record() keeps.
struct RecordOptions {
  // The threads whose events it keeps.
  enum class Threads : uint8_t {
    // All threads but those that are in a Record() of their own meanwhile. A
    // thread that two such blocks have started at a time is in both traces.
    kAll,
    // The thread that calls Record().
    kThisOne,
  };

  // The same as LocalTrace::Options::categories.
  std::string categories = {};
  Threads threads = Threads::kAll;
};

// The events of a block of code. Copies share them.
class RecordedTrace {
 public:
  // Returns whether the trace keeps the rule.
  TraceVerdict Check(const TraceRule& rule) const {
    if (!error_.empty()) {
      return {TraceVerdict::Kind::kBroken,
              "  The trace was not recorded: " + error_ + ".\n"};
    }
    return events_->Check(rule);
  }

  // GoogleTest prints it so.
  friend std::ostream& operator<<(std::ostream& stream,
                                  const RecordedTrace& trace) {
    return stream << "a trace of " << std::to_string(trace.events_->size())
                  << " events";
  }

 private:
  friend class Recording;

  RecordedTrace() = default;

  std::shared_ptr<TraceEvents> events_;
  std::string error_;
};

// Records while it exists. Record() is shorter.
class Recording {
 public:
  // Begins to record.
  explicit Recording(RecordOptions options)
      : options_(std::move(options)), thread_(ThisThread()) {
    Begin();
    LocalTrace::Options trace_options;
    trace_options.categories = options_.categories;
    trace_options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    // A test waits rather than losing events.
    trace_options.exhausted_policy = BufferExhaustedPolicy::kStall;
    trace_options.write_period_ms = 100;
    trace_.emplace(std::move(trace_options));
  }
  ~Recording() { End(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Ends the recording, and reads it. Call it once.
  RecordedTrace Finish() {
    RecordedTrace recorded;
    if (!trace_->Stop())
      recorded.error_ = trace_->error();
    End();
    TraceEvents::Options options;
    options.wants_thread = [this](const TrackInfo& thread) {
      return thread.tid == thread_ ||
             (options_.threads == RecordOptions::Threads::kAll &&
              others_.count(thread.tid) == 0);
    };
    recorded.events_ = std::make_shared<TraceEvents>(std::move(options));
    const ConstBytes packets(reinterpret_cast<const uint8_t*>(bytes_.data()),
                             bytes_.size());
    TraceReader& reader = recorded.events_->reader();
    reader.ReadAhead(packets);
    if (!reader.Read(packets) && recorded.error_.empty())
      recorded.error_ = "a packet is cut off";
    reader.Finish();
    return recorded;
  }

 private:
  // The recordings of this program at the moment.
  struct Running {
    std::mutex lock;
    std::vector<Recording*> recordings;
  };
  static Running& running() {
    static Running* const running = new Running;
    return *running;
  }

  void Begin() {
    const std::lock_guard<std::mutex> lock(running().lock);
    for (Recording* other : running().recordings) {
      other->others_.insert(thread_);
      others_.insert(other->thread_);
    }
    running().recordings.push_back(this);
  }
  void End() {
    const std::lock_guard<std::mutex> lock(running().lock);
    std::vector<Recording*>& all = running().recordings;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }

  const RecordOptions options_;
  const int64_t thread_;
  std::set<int64_t> others_;  // The threads that recorded meanwhile.
  std::string bytes_;
  std::optional<LocalTrace> trace_;
};

// Returns what the program traces while |block| runs.
template <typename Block>
RecordedTrace Record(RecordOptions options, Block&& block) {
  Recording recording(std::move(options));
  std::forward<Block>(block)();
  return recording.Finish();
}
template <typename Block>
RecordedTrace Record(Block&& block) {
  return Record(RecordOptions(), std::forward<Block>(block));
}

// Matches traces that keep a rule.
class RuleMatcher {
 public:
  // The mark of a class that GoogleTest takes as a matcher.
  using is_gtest_matcher = void;

  // Takes the rule.
  explicit RuleMatcher(TraceRule rule) : rule_(std::move(rule)) {}
  // Returns the rule.
  const TraceRule& rule() const { return rule_; }

  // Compares the trace with the rule. Prints a share that is too small.
  bool MatchAndExplain(const RecordedTrace& trace,
                       std::ostream* explanation) const {
    const TraceVerdict verdict = trace.Check(rule_);
    if (verdict.kind == TraceVerdict::Kind::kReported) {
      printf("[ REPORTED ] %s\n%s", TraceRuleToText(rule_).c_str(),
             verdict.text.c_str());
      fflush(stdout);
    }
    if (verdict.kind != TraceVerdict::Kind::kBroken)
      return true;
    if (explanation != nullptr)
      *explanation << "which breaks it:\n" << verdict.text;
    return false;
  }
  // Writes the rule in words.
  void DescribeTo(std::ostream* stream) const {
    *stream << TraceRuleToText(rule_);
  }
  // Writes its opposite.
  void DescribeNegationTo(std::ostream* stream) const {
    *stream << "not: " << TraceRuleToText(rule_);
  }

 protected:
  TraceRule rule_;
};

// A number of events, in the whole trace unless InEach() says otherwise.
class CountMatcher : public RuleMatcher {
 public:
  // Takes a kind that has a number.
  CountMatcher(TraceRule::Kind kind, uint64_t number, std::string name)
      : RuleMatcher(TraceRule()) {
    rule_.kind = kind;
    rule_.number = number;
    rule_.name = std::move(name);
  }
};
// Matches traces with |number| events of that name.
inline CountMatcher Exactly(uint64_t number, std::string name) {
  return {TraceRule::Kind::kExactly, number, std::move(name)};
}
// Matches traces with at least so many.
inline CountMatcher AtLeast(uint64_t number, std::string name) {
  return {TraceRule::Kind::kAtLeast, number, std::move(name)};
}
// Matches traces with no more.
inline CountMatcher AtMost(uint64_t number, std::string name) {
  return {TraceRule::Kind::kAtMost, number, std::move(name)};
}
// Matches traces in which each such slice has that number of events.
inline RuleMatcher InEach(std::string slice, const CountMatcher& events) {
  TraceRule rule = events.rule();
  rule.outer = std::move(slice);
  return RuleMatcher(std::move(rule));
}

// The slices that an event must not be in.
struct Inside {
  explicit Inside(std::string a_slice) : slice(std::move(a_slice)) {}
  std::string slice;
};
// Matches traces without such an event, or without one inside a slice.
inline RuleMatcher Never(std::string name,
                         std::optional<Inside> inside = std::nullopt) {
  TraceRule rule;
  rule.kind = TraceRule::Kind::kNever;
  rule.name = std::move(name);
  if (inside)
    rule.outer = std::move(inside->slice);
  return RuleMatcher(std::move(rule));
}

// The time that slices have to be shorter than.
struct Under {
  explicit Under(std::chrono::nanoseconds a_limit) : limit(a_limit) {}
  std::chrono::nanoseconds limit;
};
// A share of the slices of a name.
class ShareMatcher : public RuleMatcher {
 public:
  // |share| is 0 to 1.
  ShareMatcher(double share, std::string name, Under limit)
      : RuleMatcher(TraceRule()) {
    rule_.kind = TraceRule::Kind::kShare;
    rule_.percent = share * 100;
    rule_.name = std::move(name);
    rule_.limit_ns = static_cast<uint64_t>(limit.limit.count());
  }
};
// Matches traces in which that share of the slices is shorter than |limit|.
inline ShareMatcher Share(double share, std::string name, Under limit) {
  return {share, std::move(name), limit};
}
// Fails if the share is too small.
inline RuleMatcher Strictly(const ShareMatcher& share) {
  TraceRule rule = share.rule();
  rule.is_strict = true;
  return RuleMatcher(std::move(rule));
}

// A part of the time of all slices of a name.
class TimeMatcher : public RuleMatcher {
 public:
  // Takes the part, the name and the time.
  TimeMatcher(TraceRule::Part part, std::string name, Under limit)
      : RuleMatcher(TraceRule()) {
    rule_.kind = TraceRule::Kind::kTime;
    rule_.part = part;
    rule_.name = std::move(name);
    rule_.limit_ns = static_cast<uint64_t>(limit.limit.count());
  }
};
// Matches traces in which the thread of each such slice ran for less time.
inline TimeMatcher Ran(std::string name, Under limit) {
  return {TraceRule::Part::kRan, std::move(name), limit};
}
// Matches traces in which it had no processor for less time.
inline TimeMatcher Ready(std::string name, Under limit) {
  return {TraceRule::Part::kReady, std::move(name), limit};
}
// Matches traces in which it waited for less time.
inline TimeMatcher Waited(std::string name, Under limit) {
  return {TraceRule::Part::kWaited, std::move(name), limit};
}

// Matches traces in which all tasks have ended.
inline RuleMatcher AllTasksEnded() {
  TraceRule rule;
  rule.kind = TraceRule::Kind::kAllTasksEnded;
  return RuleMatcher(std::move(rule));
}
// Matches traces from which nothing is lost.
inline RuleMatcher NothingLost() {
  return RuleMatcher(TraceRule());
}

}  // namespace trace_testing

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TESTING_TRACE_MATCHERS_H_
