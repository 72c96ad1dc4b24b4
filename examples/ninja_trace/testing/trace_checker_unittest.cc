// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/testing/trace_checker.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A small trace with everything in it.
constexpr char kGoodTrace[] = R"(
  packet {
    trusted_packet_sequence_id: 7
    sequence_flags: 1
    first_packet_on_sequence: true
    interned_data {
      event_categories { iid: 1 name: "link" }
      debug_annotation_names { iid: 1 name: "mtime" }
    }
    track_descriptor {
      uuid: 10
      process { pid: 1 process_name: "out" }
      child_ordering: EXPLICIT
    }
  }
  packet {
    trusted_packet_sequence_id: 7
    track_descriptor { uuid: 11 parent_uuid: 10 name: "slot 1" }
  }
  packet {
    timestamp: 1000
    trusted_packet_sequence_id: 7
    sequence_flags: 2
    track_event {
      type: TYPE_SLICE_BEGIN
      track_uuid: 11
      name: "program"
      category_iids: 1
      debug_annotations { name_iid: 1 int_value: -5 }
    }
  }
  packet {
    timestamp: 3000
    trusted_packet_sequence_id: 7
    track_event { type: TYPE_SLICE_END track_uuid: 11 }
  }
)";
enum { kProcessTrack, kSlotTrack, kBegin, kEnd };

// Returns the problems of kGoodTrace after |change|.
std::vector<std::string> ProblemsAfter(
    const std::function<void(perfetto::protos::Trace*)>& change) {
  perfetto::protos::Trace trace;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(kGoodTrace, &trace));
  change(&trace);
  return TraceChecker(trace.SerializeAsString()).problems();
}

TEST(TraceCheckerTest, ReadsSlices) {
  perfetto::protos::Trace trace;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(kGoodTrace, &trace));
  const TraceChecker checker(trace.SerializeAsString());
  EXPECT_THAT(checker.problems(), IsEmpty());
  ASSERT_EQ(checker.slices().size(), 1u);
  const Slice& slice = checker.slices()[0];
  EXPECT_EQ(slice.track, "slot 1");
  EXPECT_EQ(slice.name, "program");
  EXPECT_EQ(slice.category, "link");
  EXPECT_EQ(slice.begin, 1000u);
  EXPECT_EQ(slice.end, 3000u);
  EXPECT_EQ(slice.mtime, -5);
}

TEST(TraceCheckerTest, FindsWhatViewersWouldNotShow) {
  using Trace = perfetto::protos::Trace;
  EXPECT_THAT(ProblemsAfter([](Trace*) {}), IsEmpty());
  EXPECT_THAT(TraceChecker("no trace").problems(),
              Contains(HasSubstr("not a trace")));

  EXPECT_THAT(
      ProblemsAfter([](Trace* t) { t->mutable_packet()->RemoveLast(); }),
      Contains(HasSubstr("slice without an end")));
  EXPECT_THAT(
      ProblemsAfter([](Trace* t) { *t->add_packet() = t->packet(kEnd); }),
      Contains(HasSubstr("end without a beginning")));
  EXPECT_THAT(
      ProblemsAfter([](Trace* t) { *t->add_packet() = t->packet(kBegin); }),
      Contains(HasSubstr("time goes backwards")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                *t->mutable_packet(kEnd) = t->packet(kBegin);
              }),
              Contains(HasSubstr("overlap")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kBegin)->clear_timestamp();
              }),
              Contains(HasSubstr("without a timestamp")));
  EXPECT_THAT(
      ProblemsAfter([](Trace* t) {
        t->mutable_packet(kEnd)->mutable_track_event()->set_track_uuid(12);
      }),
      Contains(HasSubstr("unknown track")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kSlotTrack)
                    ->mutable_track_descriptor()
                    ->set_parent_uuid(12);
              }),
              Contains(HasSubstr("without a known parent")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kProcessTrack)
                    ->mutable_track_descriptor()
                    ->mutable_process()
                    ->clear_pid();
              }),
              Contains(HasSubstr("without a pid")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kProcessTrack)->clear_sequence_flags();
              }),
              Contains(HasSubstr("SEQ_INCREMENTAL_STATE_CLEARED")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kBegin)->clear_sequence_flags();
              }),
              Contains(HasSubstr("SEQ_NEEDS_INCREMENTAL_STATE")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kEnd)->clear_trusted_packet_sequence_id();
              }),
              Contains(HasSubstr("on no sequence")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kProcessTrack)->clear_interned_data();
              }),
              Contains(HasSubstr("unknown id of a string")));
  EXPECT_THAT(ProblemsAfter([](Trace* t) {
                t->mutable_packet(kBegin)
                    ->GetReflection()
                    ->MutableUnknownFields(t->mutable_packet(kBegin))
                    ->AddVarint(9, 1);
              }),
              Contains(HasSubstr("unknown field")));
}

}  // namespace

}  // namespace ninja_trace
