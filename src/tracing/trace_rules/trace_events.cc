// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/testing/trace_rules.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/tracing/trace_reader/thread_state_table.h"
#include "src/tracing/trace_rules/event_list.h"
#include "src/tracing/trace_rules/rule_text.h"
#include "src/tracing/trace_rules/timeline_text.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using internal::EventList;
using internal::ListedEvent;
using internal::ListedTask;
using internal::RuleName;
using internal::ThreadStateTable;
using internal::TimeDivision;
using internal::TimelineText;
using RuleKind = TraceRule::Kind;

namespace {

// The most slices that a verdict shows with what is inside them.
constexpr size_t kMaxShown = 5;

TraceVerdict Broken(std::string text) {
  return {TraceVerdict::Kind::kBroken, std::move(text)};
}

std::string CountText(uint64_t number, const std::string& name) {
  return std::to_string(number) + " " + RuleName(name);
}

bool Holds(const TraceRule& rule, uint64_t number) {
  switch (rule.kind) {
    case RuleKind::kExactly:
      return number == rule.number;
    case RuleKind::kAtLeast:
      return number >= rule.number;
    case RuleKind::kAtMost:
      return number <= rule.number;
    default:
      return number == 0;
  }
}

}  // namespace

class TraceEvents::Impl {
 public:
  explicit Impl(Options options)
      : reader_(Callbacks()), list_(std::move(options)) {}

  TraceReader& reader() { return reader_; }

  TraceVerdict Check(const TraceRule& rule) {
    SortOnce();
    TraceVerdict verdict = CheckKind(rule);
    const std::string losses = LossText();
    if (verdict.kind != TraceVerdict::Kind::kKept && !losses.empty() &&
        rule.kind != RuleKind::kNothingLost) {
      verdict.text += "  The trace is not complete: " + losses + ".\n";
    }
    return verdict;
  }

  size_t size() {
    SortOnce();
    return events().size();
  }

 private:
  TraceReader::Callbacks Callbacks() {
    TraceReader::Callbacks callbacks;
    callbacks.on_slice = [this](const Slice& slice) {
      list_.AddSlice(reader_, slice, ListedEvent::Kind::kSlice);
    };
    callbacks.on_unfinished = [this](const Slice& slice) {
      list_.AddSlice(reader_, slice, ListedEvent::Kind::kUnfinished);
    };
    callbacks.on_instant = [this](const Instant& instant) {
      list_.AddInstant(reader_, instant);
    };
    callbacks.on_task_step = [this](const TaskStep& step) {
      list_.AddStep(reader_, step);
    };
    callbacks.on_kernel_packet = [this](const KernelPacket& packet) {
      states_.Add(packet);
    };
    return callbacks;
  }

  void SortOnce() {
    if (std::exchange(is_sorted_, true))
      return;
    list_.Sort();
    states_.Finish();
  }
  const std::vector<ListedEvent>& events() const { return list_.events(); }
  TimelineText Text() const { return {reader_, list_}; }

  TraceVerdict CheckKind(const TraceRule& rule) const {
    switch (rule.kind) {
      case RuleKind::kExactly:
      case RuleKind::kAtLeast:
      case RuleKind::kAtMost:
      case RuleKind::kNever:
        return rule.outer ? CheckInEach(rule) : CheckCount(rule);
      case RuleKind::kShare:
        return CheckShare(rule);
      case RuleKind::kTime:
        return CheckTime(rule);
      case RuleKind::kAllTasksEnded:
        return CheckTasks();
      case RuleKind::kNothingLost: {
        const std::string losses = LossText();
        if (!losses.empty())
          return Broken("  " + losses + ".\n");
        return reader_.has_stats()
                   ? TraceVerdict()
                   : Broken("  The trace has no count of what is lost.\n");
      }
    }
    return {};
  }

  TraceVerdict CheckCount(const TraceRule& rule) const {
    const std::vector<bool> is_counted = list_.TextsNamed(rule.name);
    std::vector<size_t> counted;
    for (size_t i = 0; i < events().size(); ++i) {
      if (is_counted[events()[i].text])
        counted.push_back(i);
    }
    if (Holds(rule, counted.size()))
      return {};
    if (counted.empty())
      return Broken(NoneText(rule.name));
    std::string text =
        "  The trace has " + CountText(counted.size(), rule.name) + ".\n";
    Text().AppendList(counted, &text);
    return Broken(std::move(text));
  }

  TraceVerdict CheckInEach(const TraceRule& rule) const {
    const std::vector<bool> is_counted = list_.TextsNamed(rule.name);
    const std::vector<bool> is_outer = list_.TextsNamed(*rule.outer);
    // The number of events before each one. Those inside a slice are
    // neighbours.
    std::vector<uint64_t> counts = {0};
    counts.reserve(events().size() + 1);
    for (const ListedEvent& event : events())
      counts.push_back(counts.back() + (is_counted[event.text] ? 1 : 0));
    uint64_t num_outer = 0;
    uint64_t num_broken = 0;
    std::string text;
    for (size_t i = 0; i < events().size(); ++i) {
      const ListedEvent& event = events()[i];
      const uint64_t count = counts[i + 1 + event.num_inside] - counts[i + 1];
      if (!is_outer[event.text] || event.kind == ListedEvent::Kind::kInstant)
        continue;
      ++num_outer;
      if (Holds(rule, count) || IsTooEarly(rule, event, count))
        continue;
      if (++num_broken > kMaxShown)
        continue;
      text += "  " + CountText(count, rule.name) + " in this " +
              RuleName(*rule.outer) + ":\n";
      Text().AppendInside(i, is_counted, &text);
    }
    if (num_outer == 0 && rule.kind != RuleKind::kNever)
      return Broken(NoneText(*rule.outer));
    if (num_broken == 0)
      return {};
    return Broken("  " + std::to_string(num_broken) + " of " +
                  CountText(num_outer, *rule.outer) + " break it.\n" + text);
  }

  // Returns whether a slice without an end may keep the rule yet.
  static bool IsTooEarly(const TraceRule& rule,
                         const ListedEvent& outer,
                         uint64_t count) {
    return outer.kind == ListedEvent::Kind::kUnfinished &&
           (rule.kind == RuleKind::kExactly ||
            rule.kind == RuleKind::kAtLeast) &&
           count < rule.number;
  }

  TraceVerdict CheckShare(const TraceRule& rule) const {
    const std::vector<bool> is_measured = list_.TextsNamed(rule.name);
    uint64_t num_measured = 0;
    uint64_t longest_ns = 0;
    std::vector<size_t> too_long;
    for (size_t i = 0; i < events().size(); ++i) {
      const ListedEvent& event = events()[i];
      const bool is_long = event.duration_ns >= rule.limit_ns;
      if (!is_measured[event.text] ||
          event.kind == ListedEvent::Kind::kInstant ||
          (event.kind == ListedEvent::Kind::kUnfinished && !is_long)) {
        continue;
      }
      ++num_measured;
      longest_ns = std::max(longest_ns, event.duration_ns);
      if (is_long)
        too_long.push_back(i);
    }
    TraceVerdict verdict;
    const auto missed = [&] {
      verdict.kind = rule.is_strict ? TraceVerdict::Kind::kBroken
                                    : TraceVerdict::Kind::kReported;
    };
    if (num_measured == 0) {
      missed();
      verdict.text = NoneText(rule.name);
      return verdict;
    }
    verdict.text = "  " + std::to_string(num_measured - too_long.size()) +
                   " of " + CountText(num_measured, rule.name) + " under " +
                   internal::RuleTime(rule.limit_ns) + "; the longest takes " +
                   TimelineText::DurationText(longest_ns) + ".\n";
    // A percentage such as 99.9 is not exact.
    constexpr double kRounding = 1 + 1e-12;
    if (static_cast<double>(num_measured - too_long.size()) * 100 * kRounding >=
        rule.percent * static_cast<double>(num_measured)) {
      return verdict;
    }
    missed();
    internal::SortInOrder(&too_long, [this](size_t a, size_t b) {
      return events()[a].duration_ns > events()[b].duration_ns;
    });
    Text().AppendList(too_long, &verdict.text);
    return verdict;
  }

  TraceVerdict CheckTime(const TraceRule& rule) const {
    constexpr uint64_t TimeDivision::* kTimes[] = {&TimeDivision::ran_ns,
                                                   &TimeDivision::ready_ns,
                                                   &TimeDivision::waited_ns};
    constexpr const char* kWords[] = {"ran", "was ready", "waited"};
    const auto part = static_cast<size_t>(rule.part);
    const std::vector<bool> is_measured = list_.TextsNamed(rule.name);
    uint64_t num_slices = 0;
    uint64_t num_known = 0;
    uint64_t longest_ns = 0;
    std::vector<size_t> too_long;
    for (size_t i = 0; i < events().size(); ++i) {
      const ListedEvent& event = events()[i];
      if (!is_measured[event.text] ||
          event.kind == ListedEvent::Kind::kInstant) {
        continue;
      }
      ++num_slices;
      const auto times =
          states_.Divide(states_.Find(list_.TrackOf(event), reader_.tracks()),
                         event.begin_ns, event.end_ns());
      if (!times)
        continue;
      ++num_known;
      const uint64_t ns = (*times).*kTimes[part];
      longest_ns = std::max(longest_ns, ns);
      if (ns >= rule.limit_ns)
        too_long.push_back(i);
    }
    if (num_slices == 0)
      return Broken(NoneText(rule.name));
    if (num_known == 0) {
      return Broken("  The trace does not say what the threads of " +
                    CountText(num_slices, rule.name) + " did.\n");
    }
    std::string text = "  " + std::to_string(num_known - too_long.size()) +
                       " of " + CountText(num_known, rule.name) + " " +
                       kWords[part] + " for less; " + "the longest " +
                       TimelineText::DurationText(longest_ns) + ".\n";
    if (num_known != num_slices) {
      text += "  " + std::to_string(num_slices - num_known) +
              " more are not known all the time.\n";
    }
    if (too_long.empty())
      return {TraceVerdict::Kind::kKept, std::move(text)};
    Text().AppendList(too_long, &text);
    return Broken(std::move(text));
  }

  TraceVerdict CheckTasks() const {
    if (list_.tasks().empty())
      return Broken("  The trace has no task.\n");
    uint64_t num_open = 0;
    std::string text;
    for (const auto& [number, task] : list_.tasks()) {
      if (task.has_ended)
        continue;
      if (++num_open > TimelineText::kMaxLines)
        continue;
      text += "  task " + std::to_string(number.second);
      if (!task.text.empty())
        text += " " + task.text;
      text += ", seen first at " + Text().TimeText(task.first_ns) + "\n";
    }
    if (num_open == 0)
      return {};
    if (num_open > TimelineText::kMaxLines) {
      text += "  ... and " +
              std::to_string(num_open - TimelineText::kMaxLines) + " more\n";
    }
    return Broken("  " + std::to_string(num_open) + " of " +
                  std::to_string(list_.tasks().size()) +
                  " tasks have not ended.\n" + text);
  }

  // Returns no text if nothing is lost.
  std::string LossText() const {
    uint64_t packets = 0;
    for (const auto& [reason, lost] : reader_.packets_lost())
      packets += std::min(lost, UINT64_MAX - packets);
    uint64_t places = reader_.unknown_losses();
    for (const auto& [sequence, gaps] : reader_.gaps())
      places += std::min(gaps.places, UINT64_MAX - places);
    if (packets != 0)
      return std::to_string(packets) + " packets are lost";
    if (places != 0)
      return "packets are missing in " + std::to_string(places) + " places";
    if (!reader_.unread().empty())
      return reader_.unread().begin()->first + " are not read";
    return "";
  }

  // Says that the trace has no event of a name, and which ones it has.
  std::string NoneText(const std::string& name) const {
    return "  The trace has no " + RuleName(name) + list_.NamesText() + ".\n";
  }

  TraceReader reader_;
  EventList list_;
  ThreadStateTable states_;
  bool is_sorted_ = false;
};

TraceEvents::TraceEvents() : TraceEvents(Options()) {}
TraceEvents::TraceEvents(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
TraceEvents::~TraceEvents() = default;

TraceReader& TraceEvents::reader() {
  return impl_->reader();
}

TraceVerdict TraceEvents::Check(const TraceRule& rule) const {
  return impl_->Check(rule);
}

size_t TraceEvents::size() const {
  return impl_->size();
}

int64_t trace_testing::ThisThread() {
  return syscall(SYS_gettid);
}

PROTOZERO_ABI_END
}  // namespace protozero
