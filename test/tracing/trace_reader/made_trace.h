// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_TRACE_READER_MADE_TRACE_H_
#define TEST_TRACING_TRACE_READER_MADE_TRACE_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"

namespace protozero::test {

// Returns the flows after |begin|, and those that end after " ends ". A flow
// with arrows in one direction has "in" or "out" before its number.
inline std::string TextOfFlows(const EventDetails& details, const char* begin) {
  std::string all;
  std::string ended;
  for (const EventFlow& flow : details.flows) {
    const std::string id = std::to_string(flow.id);
    all += all.empty() ? begin : ",";
    constexpr const char* kTexts[] = {"", "in", "out", "step"};
    all += kTexts[static_cast<size_t>(flow.arrows)];
    all += id;
    if (flow.ends_here)
      ended += (ended.empty() ? " ends " : ",") + id;
  }
  return all + ended;
}

// A test with a trace, and with its slices as "name time+duration".
class MadeTraceTest : public testing::Test {
 protected:
  template <typename Fill>
  void Add(const Fill& fill, uint32_t sequence = 1) {
    HeapBuffered<trace::Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(sequence);
    fill(packet);
    trace_ += trace.SerializeAsString();
  }
  template <typename Fill>
  void AddEvent(uint64_t time_ns,
                trace::TrackEvent::Type type,
                const Fill& fill,
                uint32_t sequence = 1) {
    Add(
        [&](trace::TracePacket* packet) {
          packet->set_timestamp(time_ns);
          auto* const event = packet->set_track_event();
          event->set_type(type);
          fill(event);
        },
        sequence);
  }
  void AddNamed(uint64_t time_ns,
                trace::TrackEvent::Type type,
                uint64_t track,
                const char* name,
                uint32_t sequence = 1) {
    AddEvent(
        time_ns, type,
        [&](trace::TrackEvent* event) {
          if (track != 0)
            event->set_track_uuid(track);
          if (*name != 0)
            event->set_name(name);
        },
        sequence);
  }

  TraceReader::Callbacks Callbacks() {
    TraceReader::Callbacks callbacks;
    callbacks.on_slice = [this](const Slice& slice) {
      rows_.push_back(slice.text->name + " " + std::to_string(slice.begin_ns) +
                      "+" + std::to_string(slice.duration_ns));
      rows_.back() += TextOfFlows(*slice.details, " ");
    };
    callbacks.on_instant = [this](const Instant& instant) {
      rows_.push_back(instant.text->category + ":" + instant.text->name + " " +
                      std::to_string(instant.time_ns) + instant.details->args);
    };
    callbacks.on_counter = [this](const CounterValue& value) {
      rows_.push_back(std::to_string(value.track) + " " +
                      std::to_string(value.time_ns) + "=" +
                      std::to_string(static_cast<int64_t>(value.value)));
    };
    callbacks.reads_details = true;
    return callbacks;
  }
  std::vector<std::string> Rows() {
    rows_.clear();
    TraceReader reader(Callbacks());
    EXPECT_TRUE(reader.Read(Bytes()));
    reader.Finish();
    return rows_;
  }
  ConstBytes Bytes() const {
    return {reinterpret_cast<const uint8_t*>(trace_.data()), trace_.size()};
  }

  std::string trace_;
  std::vector<std::string> rows_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_TRACE_READER_MADE_TRACE_H_
