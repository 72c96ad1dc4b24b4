// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/testing/trace_rules.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_rules/event_list.h"

namespace {

using protozero::ConstBytes;
using protozero::HeapBuffered;
using protozero::ParseTraceRule;
using protozero::TraceEvents;
using protozero::TraceRule;
using protozero::TraceRuleToText;
using protozero::TraceVerdict;
using protozero::internal::MaxTree;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

constexpr uint64_t kMs = 1000000;

TEST(TraceRuleTest, TextOfARuleIsTheRule) {
  for (const char* text : {"exactly 3 frame",
                           "at least 0 frame",
                           "at most 999999999 frame",
                           "in each request exactly 1 db",
                           "in each request at most 2 db",
                           "never lock",
                           "never lock inside render",
                           "99 % of frame under 16 ms",
                           "strictly 99.9 % of frame under 1500 us",
                           "100 % of frame under 7 ns",
                           "0.5 % of frame under 2 s",
                           "slice frame ran < 8 ms",
                           "slice \"GET /\" ready < 1500 us",
                           "slice slice waited < 3 ns",
                           "all tasks ended",
                           "nothing lost",
                           R"(in each "GET /\"a\\b" at least 1 "x\x0ay")",
                           R"(never "")",
                           "never inside inside inside",
                           "never std::map<int>::find",
                           R"(never "#1")"}) {
    std::string error;
    const std::optional<TraceRule> rule = ParseTraceRule(text, &error);
    ASSERT_TRUE(rule) << text << ": " << error;
    EXPECT_EQ(TraceRuleToText(*rule), text);
  }
}

// Sets a locale with a decimal comma, while it lives.
class CommaLocale {
 public:
  CommaLocale() {
    char folder[] = "/tmp/locales_XXXXXX";
    folder_ = mkdtemp(folder);
    const std::string make = "localedef --no-archive -i de_DE -f UTF-8 " +
                             folder_ + "/comma >/dev/null 2>&1";
    is_set_ = system(make.c_str()) == 0 &&
              setenv("LOCPATH", folder_.c_str(), 1) == 0 &&
              setlocale(LC_NUMERIC, "comma") != nullptr &&
              *localeconv()->decimal_point == ',';
  }
  ~CommaLocale() {
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_set() const { return is_set_; }

 private:
  std::string folder_;
  bool is_set_ = false;
};

TEST(TraceRuleTest, ALocaleChangesNoNumber) {
  const CommaLocale locale;
  if (!locale.is_set())
    GTEST_SKIP() << "localedef makes no locale with a comma here";
  std::string error;
  const char* const text = "strictly 99.9 % of frame under 1500 us";
  const std::optional<TraceRule> rule = ParseTraceRule(text, &error);
  ASSERT_TRUE(rule) << error;
  EXPECT_EQ(TraceRuleToText(*rule), text);
  // A slice that is too long, and its times.
  HeapBuffered<Trace> trace;
  for (const auto type :
       {TrackEvent::TYPE_SLICE_BEGIN, TrackEvent::TYPE_SLICE_END}) {
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_timestamp(type == TrackEvent::TYPE_SLICE_END ? 2 * kMs : 0);
    auto* const event = packet->set_track_event();
    event->set_type(type);
    event->set_name(std::string_view("frame"));
  }
  const std::vector<uint8_t> bytes = trace.SerializeAsArray();
  TraceEvents events({{*rule}, {}});
  EXPECT_TRUE(events.reader().Read({bytes.data(), bytes.size()}));
  events.reader().Finish();
  const std::string verdict = events.Check(*rule).text;
  EXPECT_NE(verdict.find("0.000 ms     2.000 ms  frame"), std::string::npos)
      << verdict;
}

TEST(TraceRuleTest, SpacesAndCommentsDoNotMatter) {
  const char* const kCases[][2] = {
      {"  in  each\trequest exactly 1 db  # of it",
       "in each request exactly 1 db"},
      {"99% of frame under 16ms", "99 % of frame under 16 ms"},
      {"99.0 % of frame under 0.5s#", "99 % of frame under 500 ms"},
      {"slice  frame waited <8ms", "slice frame waited < 8 ms"},
      {"nothing lost\r", "nothing lost"}};
  for (const auto& [text, expected] : kCases) {
    std::string error;
    const std::optional<TraceRule> rule = ParseTraceRule(text, &error);
    ASSERT_TRUE(rule) << text << ": " << error;
    EXPECT_EQ(TraceRuleToText(*rule), expected);
  }
}

TEST(TraceRuleTest, ErrorSaysWhatToWrite) {
  const std::string kBeginnings =
      "write 'exactly 3 NAME', 'at least', 'at most', 'in each NAME exactly 1 "
      "NAME', 'never NAME inside NAME', '99 % of NAME under 16 ms', "
      "'strictly', 'slice NAME ran < 8 ms', 'all tasks ended' or "
      "'nothing lost' ";
  const std::string kCases[][2] = {
      {"", kBeginnings + "at the end of the line"},
      {"exacly 1 db", kBeginnings + "where it says \"exacly 1 db\""},
      {"neverlock", kBeginnings + "where it says neverlock"},
      {"exactly one db", "write a number of events where it says \"one db\""},
      {"exactly 1db", "write a number of events where it says 1db"},
      {"exactly 1.5 db", "write a number of events where it says \"1.5 db\""},
      {"exactly 9999999999 db",
       "write a number of events where it says \"9999999999 db\""},
      {"exactly 1", "write a name at the end of the line"},
      {"exactly 1 a b", "write the end of the line where it says b"},
      {"in each a never b",
       "write 'exactly', 'at least' or 'at most' where it says \"never b\""},
      {"never a outside b",
       "write the end of the line where it says \"outside b\""},
      {"never a inside", "write a name at the end of the line"},
      {"never \"a",
       "write a quote at the end of the name where it says "
       "\"\\\"a\""},
      {"never \"a\\n\"",
       "write \\\", \\\\ or \\x and two digits such as \\x0a "
       "where it says \"\\\\n\\\"\""},
      {"strictly nothing lost",
       "write a share such as '99 %' where it says \"nothing lost\""},
      {"99 of a", "write a share such as '99 %' where it says \"of a\""},
      {"101 % of a under 1 s",
       "write at most 100 % where it says \"101 % of a under 1 s\""},
      {"99 % a", "write 'of' and a name where it says a"},
      {"99 % of a", "write 'under' and a time at the end of the line"},
      {"99 % of a under 16",
       "write a time such as '16 ms', in ns, us, ms or s "
       "where it says 16"},
      {"99 % of a under 16 m",
       "write a time such as '16 ms', in ns, us, ms or "
       "s where it says \"16 m\""},
      {"slice a", "write 'ran', 'ready' or 'waited' at the end of the line"},
      {"slice a ran 8 ms", "write '<' and a time where it says \"8 ms\""},
      {"slice a ran < 8",
       "write a time such as '16 ms', in ns, us, ms or s where it says 8"},
      {"nothing lost\x1b[31m" + std::string(100, 'x'),
       kBeginnings + "where it says \"nothing lost\\x1b[31m" +
           std::string(43, 'x') + "\"..."}};
  for (const auto& [text, expected] : kCases) {
    std::string error;
    EXPECT_FALSE(ParseTraceRule(text, &error)) << text;
    EXPECT_EQ(error, expected) << text;
  }
}

// Makes a trace, and checks it.
class TraceEventsTest : public testing::Test {
 protected:
  void Begin(uint64_t ns, const char* name, uint64_t track = 7) {
    AddEvent(ns, TrackEvent::TYPE_SLICE_BEGIN, name, track);
  }
  void End(uint64_t ns, uint64_t track = 7) {
    AddEvent(ns, TrackEvent::TYPE_SLICE_END, "", track);
  }
  // Ends the slice that began |duration| before, which others may overlap.
  void EndOf(uint64_t duration, uint64_t ns) {
    AddEvent(ns, TrackEvent::TYPE_SLICE_END, "", 7, duration);
  }
  void Moment(uint64_t ns, const char* name, uint64_t track = 7) {
    AddEvent(ns, TrackEvent::TYPE_INSTANT, name, track);
  }
  void AddTrack(uint64_t track, const char* name) {
    HeapBuffered<Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    auto* const descriptor = packet->set_track_descriptor();
    descriptor->set_uuid(track);
    descriptor->set_name(name);
    bytes_ += trace.SerializeAsString();
  }
  void AddStats(uint64_t lost) {
    HeapBuffered<Trace> trace;
    auto* const buffer =
        trace->add_packet()->set_trace_stats()->add_buffer_stats();
    buffer->set_trace_writer_packet_loss(lost);
    bytes_ += trace.SerializeAsString();
  }

  // Returns the text of a broken rule, nothing if it is kept. With |keeps_all|,
  // events that the rule does not name are kept, too.
  std::string Check(const char* text, bool keeps_all) {
    std::string error;
    const std::optional<TraceRule> rule = ParseTraceRule(text, &error);
    EXPECT_TRUE(rule) << error;
    TraceEvents::Options options;
    if (!keeps_all)
      options.rules = {*rule};
    TraceEvents events(std::move(options));
    EXPECT_TRUE(events.reader().Read(Bytes()));
    events.reader().Finish();
    const TraceVerdict verdict = events.Check(*rule);
    kind_ = verdict.kind;
    return verdict.kind == TraceVerdict::Kind::kKept ? "" : verdict.text;
  }
  std::string Check(const char* text) {
    const std::string with_all = Check(text, true);
    const std::string without = Check(text, false);
    // The lists may differ, the answer may not.
    EXPECT_EQ(with_all.empty(), without.empty());
    return without;
  }
  ConstBytes Bytes() const {
    return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  }

  std::string bytes_;
  TraceVerdict::Kind kind_{};

 private:
  void AddEvent(uint64_t ns,
                TrackEvent::Type type,
                const char* name,
                uint64_t track,
                uint64_t ended_duration = 0) {
    HeapBuffered<Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_timestamp(ns);
    if (ended_duration != 0)
      packet->set_ended_slice_duration(static_cast<uint32_t>(ended_duration));
    auto* const event = packet->set_track_event();
    event->set_type(type);
    event->set_track_uuid(track);
    if (*name != 0)
      event->set_name(name);
    bytes_ += trace.SerializeAsString();
  }
};

TEST_F(TraceEventsTest, EventsInEachSliceAreCountedAtAnyDepth) {
  AddTrack(7, "main");
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t ns = i * 10 * kMs;
    Begin(ns, "request");
    Begin(ns + 1 * kMs, "step");
    for (uint64_t k = 0; k < i; ++k) {
      Begin(ns + (2 + k) * kMs, "db");
      End(ns + (2 + k) * kMs + 5000);
    }
    End(ns + 5 * kMs);
    End(ns + 6 * kMs);
    // This one is in no request.
    Moment(ns + 7 * kMs, "db");
  }
  EXPECT_EQ(Check("in each request at most 2 db"), "");
  EXPECT_EQ(Check("in each request at least 0 db"), "");
  EXPECT_EQ(Check("exactly 6 db"), "");
  EXPECT_EQ(Check("never db inside frame"), "");
  EXPECT_EQ(Check("in each request exactly 1 db"),
            "  2 of 3 request break it.\n"
            "  0 db in this request:\n"
            "  track main:\n"
            "        0.000 ms     6.000 ms  request\n"
            "  2 db in this request:\n"
            "  track main:\n"
            "       20.000 ms     6.000 ms  request\n"
            "       22.000 ms     5.000 us    db  <--\n"
            "       23.000 ms     5.000 us    db  <--\n");
  EXPECT_EQ(Check("never db inside step", true),
            "  2 of 3 step break it.\n"
            "  1 db in this step:\n"
            "  track main:\n"
            "       11.000 ms     4.000 ms  step\n"
            "       12.000 ms     5.000 us    db  <--\n"
            "  2 db in this step:\n"
            "  track main:\n"
            "       21.000 ms     4.000 ms  step\n"
            "       22.000 ms     5.000 us    db  <--\n"
            "       23.000 ms     5.000 us    db  <--\n");
  EXPECT_EQ(Check("in each frame exactly 1 db"),
            "  The trace has no frame; it has db.\n");
}

TEST_F(TraceEventsTest, InsideMeansOnTheSameTrackAndBetweenBeginAndEnd) {
  Moment(5, "db");
  Begin(10, "request");
  Begin(11, "db", 8);
  End(12, 8);
  Begin(20, "other");
  End(30);
  Moment(39, "db");
  End(40);
  // This one begins when the request ends, in a slice that no rule names.
  Begin(40, "other");
  Begin(40, "db");
  End(50);
  End(60);
  EXPECT_EQ(Check("in each request exactly 1 db"), "");
  EXPECT_EQ(Check("in each other at most 1 db"), "");
  EXPECT_EQ(Check("exactly 4 db"), "");
}

TEST_F(TraceEventsTest, SlicesThatOverlapHaveWhatBeginsInThem) {
  Begin(10, "a");
  Begin(11, "b");
  Moment(15, "in both");
  EndOf(10, 20);  // |a|
  Begin(30, "c");
  Moment(31, "in c");
  EndOf(10, 40);  // |c|
  EndOf(39, 50);  // |b|
  Begin(60, "d");
  EndOf(10, 70);
  EXPECT_EQ(Check("in each a exactly 1 \"in both\""), "");
  EXPECT_EQ(Check("in each b exactly 1 \"in both\""), "");
  EXPECT_EQ(Check("in each b exactly 1 \"in c\""), "");
  EXPECT_EQ(Check("in each b exactly 1 c"), "");
  EXPECT_EQ(Check("never c inside a"), "");
  EXPECT_EQ(Check("never c inside d"), "");
  EXPECT_EQ(Check("never b inside d"), "");
  EXPECT_EQ(Check("in each a exactly 0 b"),
            "  1 of 1 a break it.\n"
            "  1 b in this a:\n"
            "  a track without a description:\n"
            "        0.000 ms        10 ns  a\n"
            "        0.000 ms        39 ns    b  <--\n");
}

TEST_F(TraceEventsTest, NothingOfBeforeALossIsInsideALaterSlice) {
  Begin(10, "lost end");
  Begin(11, "db");
  End(12);
  {
    HeapBuffered<Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_previous_packet_dropped(true);
    bytes_ += trace.SerializeAsString();
  }
  Begin(20, "request");
  End(30);
  EXPECT_EQ(Check("exactly 1 db"), "");
  EXPECT_EQ(Check("in each request exactly 0 db"), "");
}

TEST_F(TraceEventsTest, WhatBeginsWhenASliceEndsIsNotInside) {
  Begin(10, "a");
  End(20);
  Moment(20, "x");
  Begin(20, "b");
  Moment(20, "y");
  Begin(20, "c");
  End(20);
  End(30);
  Begin(40, "a");
  Begin(50, "c");
  End(50);
  End(50);
  EXPECT_EQ(Check("never x inside a"), "");
  EXPECT_EQ(Check("in each b exactly 1 y"), "");
  EXPECT_EQ(Check("in each b exactly 1 c"), "");
  EXPECT_NE(Check("never c inside a"), "");
}

TEST_F(TraceEventsTest, SliceWithoutAnEndMayStillKeepTheRule) {
  Begin(10, "request");
  Moment(20, "db");
  EXPECT_EQ(Check("in each request exactly 2 db"), "");
  EXPECT_EQ(Check("in each request at least 2 db"), "");
  EXPECT_NE(Check("in each request exactly 0 db"), "");
  EXPECT_NE(Check("never db inside request"), "");
  EXPECT_NE(Check("strictly 100 % of request under 5 ns"), "");
  EXPECT_EQ(Check("strictly 100 % of request under 20 ns"),
            "  The trace has no request; it has request.\n");
}

TEST_F(TraceEventsTest, ShareIsMeasured) {
  for (uint64_t i = 1; i <= 100; ++i) {
    Begin(i * kMs * 1000, "frame");
    End(i * kMs * 1000 + i * kMs);
  }
  EXPECT_EQ(Check("strictly 99 % of frame under 100 ms"), "");
  EXPECT_EQ(Check("strictly 100 % of frame under 101 ms"), "");
  EXPECT_EQ(Check("strictly 99.1 % of frame under 100 ms"),
            "  99 of 100 frame under 100 ms; the longest takes 100.000 ms.\n"
            "  a track without a description:\n"
            "    99000.000 ms   100.000 ms  frame\n");
  EXPECT_EQ(kind_, TraceVerdict::Kind::kBroken);
  const std::string many = Check("50 % of frame under 50 ms");
  EXPECT_EQ(kind_, TraceVerdict::Kind::kReported);
  EXPECT_EQ(many.find("49 of 100 frame under 50 ms"), 2u);
  EXPECT_NE(many.find("  ... and 31 more\n"), std::string::npos);
}

TEST_F(TraceEventsTest, ManyEventsAreCutShort) {
  Begin(0, "request");
  for (uint64_t i = 1; i <= 100; ++i)
    Moment(i, "other");
  for (uint64_t i = 1; i <= 30; ++i)
    Moment(100 + i, "db");
  End(1000);
  const std::string text = Check("never db inside request", true);
  EXPECT_EQ(text.find("other"), std::string::npos);
  EXPECT_NE(text.find("  ... and 111 more inside\n"), std::string::npos);
}

TEST_F(TraceEventsTest, NamesCannotFakeLinesOrObeyTerminals) {
  AddTrack(7, "a\nb");
  Begin(0, "x\n  \x1b[2J");
  End(10);
  const std::string text = Check("exactly 2 \"x\\x0a  \\x1b[2J\"");
  EXPECT_NE(text.find("\"x\\x0a  \\x1b[2J\""), std::string::npos);
  EXPECT_NE(text.find("track \"a\\x0ab\""), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST_F(TraceEventsTest, LossesAreSaid) {
  Begin(0, "a");
  End(10);
  EXPECT_EQ(Check("nothing lost"),
            "  The trace has no count of what is lost.\n");
  AddStats(0);
  EXPECT_EQ(Check("nothing lost"), "");
  bytes_.clear();
  AddStats(3);
  EXPECT_NE(Check("nothing lost"), "");
  EXPECT_NE(Check("exactly 2 a").find("The trace is not complete: "),
            std::string::npos);
}

TEST_F(TraceEventsTest, AnyBytesAreChecked) {
  for (uint64_t i = 0; i < 40; ++i) {
    Begin(i * 3, i % 3 == 0 ? "request" : "db", i % 2);
    if (i % 5 != 0)
      End(i * 2, i % 2);
    Moment(i, "db", i % 3);
  }
  std::mt19937 random(1);
  const std::string good = bytes_;
  for (int i = 0; i < 2000; ++i) {
    bytes_ = good;
    for (int k = 0; k < 4; ++k)
      bytes_[random() % bytes_.size()] = static_cast<char>(random());
    bytes_.resize(random() % bytes_.size());
    TraceEvents events;
    events.reader().Read(Bytes());
    events.reader().Finish();
    for (const char* text :
         {"in each request exactly 1 db", "never db inside request",
          "strictly 50 % of db under 5 ns", "all tasks ended",
          "nothing lost"}) {
      std::string error;
      events.Check(*ParseTraceRule(text, &error));
    }
  }
}

TEST_F(TraceEventsTest, DeepNestingTakesLinearTime) {
  constexpr uint64_t kDepth = 50000;
  for (uint64_t i = 0; i < kDepth; ++i)
    Begin(i, i % 2 == 0 ? "request" : "other");
  for (uint64_t i = 0; i < kDepth; ++i)
    Moment(kDepth + i, "db");
  for (uint64_t i = 0; i < kDepth; ++i)
    End(2 * kDepth + i);
  EXPECT_NE(Check("never db inside request"), "");
}

TEST(MaxTreeTest, FindsTheFirstValueAboveALimit) {
  std::mt19937 random(1);
  for (size_t count = 0; count < 40; ++count) {
    std::vector<size_t> values(count);
    for (size_t& value : values)
      value = random() % 20;
    const MaxTree tree(values);
    for (size_t begin = 0; begin <= count; ++begin) {
      for (size_t limit = 0; limit < 20; ++limit) {
        size_t first = begin;
        while (first < count && values[first] <= limit)
          ++first;
        ASSERT_EQ(tree.FirstAbove(begin, limit), first)
            << "of " << count << " from " << begin << " above " << limit;
      }
    }
  }
}

}  // namespace
