// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Gives events to the two stages that make slices of them, EventOrder and
// SliceNesting. The events are of any kind, at any time, from few tracks. The
// first byte is the number of events that wait for their place. Each event
// comes out. The events of a track come in order unless they were too late.
// Each beginning makes a slice.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "src/tracing/trace_reader/details_pool.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/slice_nesting.h"
#include "src/tracing/trace_reader/text_table.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"

namespace {

using protozero::EventDetails;
using protozero::internal::DetailsPool;
using protozero::internal::EventOrder;
using protozero::internal::EventSink;
using protozero::internal::NestedSlice;
using protozero::internal::SliceNesting;
using protozero::internal::SliceSink;
using protozero::internal::TextTable;
using protozero::internal::TimedEvent;
using protozero::test::Check;
using protozero::test::FuzzInput;
using Kind = TimedEvent::Kind;

constexpr uint32_t kTracks = 4;

class Run final : public EventSink, public SliceSink {
 public:
  explicit Run(size_t capacity)
      : nesting_(&texts_, &details_, this), order_(capacity, this) {}

  void Add(FuzzInput* input) {
    constexpr Kind kKinds[] = {TimedEvent::kBegin,      TimedEvent::kEnd,
                               TimedEvent::kExactEnd,   TimedEvent::kState,
                               TimedEvent::kLoss,       TimedEvent::kDetails,
                               TimedEvent::kNextDetails};
    const Kind kind = kKinds[input->Byte() % std::size(kKinds)];
    TimedEvent event = {};
    event.kind = kind;
    event.track = input->Byte() % kTracks;
    event.time_ns = input->HalfWord();
    event.epoch = input->Byte() % 2;
    event.is_early = kind == TimedEvent::kEnd && input->Byte() % 8 == 0;
    const uint32_t text = input->Byte() % 4;
    if (kind == TimedEvent::kExactEnd) {
      event.duration = input->Byte();
    } else if (kind == TimedEvent::kBegin || text != 0) {
      event.text = texts_.TextOf(texts_.Intern(text % 2 != 0 ? "c" : ""),
                                 texts_.Intern(text / 2 != 0 ? "n" : ""));
    } else {
      event.text = TimedEvent::kNoText;
    }
    EventDetails details;
    details.args.assign(input->Byte() % 3, 'x');
    if (kind != TimedEvent::kLoss)
      event.details = details_.Keep(&details);
    num_begun_ +=
        event.kind == Kind::kBegin || (event.kind == Kind::kState && text != 0);
    ++num_in_;
    order_.Add(event);
    if (input->Byte() == 255)
      order_.Release();
  }

  void Finish() {
    order_.Finish();
    Check(num_in_ == num_out_, "events are lost");
    Check(num_disordered_ <= order_.late(), "events are out of order");
    nesting_.Finish(UINT16_MAX);
    Check(num_slices_ + nesting_.lost_ends() == num_begun_,
          "beginnings are lost");
    Check(num_unfinished_ + nesting_.lost_ends() == nesting_.unfinished(),
          "unfinished slices are lost");
  }

 private:
  void OnEvent(const TimedEvent& event) override {
    ++num_out_;
    num_disordered_ += event.time_ns < last_ns_[event.track];
    last_ns_[event.track] = std::max(last_ns_[event.track], event.time_ns);
    nesting_.OnEvent(event);
  }
  void OnSlice(const NestedSlice& slice) override {
    ++num_slices_;
    Check(slice.begin_ns <= slice.end_ns, "an end before the begin");
    Check(slice.self_ns <= slice.end_ns - slice.begin_ns,
          "longer than all of it");
    Check(slice.track < kTracks, "on no track");
    Check(details_.Get(slice.details).args.find_first_not_of("x,") ==
              std::string::npos,
          "details of nobody");
  }
  void OnUnfinished(const NestedSlice& slice) override {
    OnSlice(slice);
    ++num_unfinished_;
  }

  TextTable texts_;
  DetailsPool details_;
  SliceNesting nesting_;
  EventOrder order_;
  std::array<uint64_t, kTracks> last_ns_ = {};
  uint64_t num_in_ = 0;
  uint64_t num_out_ = 0;
  uint64_t num_begun_ = 0;
  uint64_t num_slices_ = 0;
  uint64_t num_unfinished_ = 0;
  uint64_t num_disordered_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Run run(1 + input.Byte() % 16);
  while (!input.is_at_end())
    run.Add(&input);
  run.Finish();
  return 0;
}
