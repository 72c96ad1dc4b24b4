// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_ENCODER_H_
#define SRC_PZTRACE_SPANS_SPAN_ENCODER_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "src/otlp/protos/schema.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/spans/span_batches.h"
#include "src/pztrace/spans/span_ids.h"
#include "src/pztrace/spans/span_values.h"

namespace pztrace {

// The life of a task, as its span has it.
struct TaskLife {
  uint64_t process = 0;  // The track.
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  bool has_ended = true;
  uint8_t result = 0;
  // The task's own name; empty for that of the place.
  std::string_view name = {};
  const TaskPlace* place = nullptr;  // Null if it is not known.
  std::string_view request = {};     // Empty for none.
};

// The bytes of a Span without its ids, and where it goes.
struct EncodedSpan {
  std::string resource;
  std::string scope;
  std::string record;
  std::vector<std::string> linked_spans = {};  // The links that it has already.
};

// Writes slices and tasks as spans, and instants as their events, or as logs.
class SpanEncoder {
 public:
  // REQUIRES: the other objects outlive it.
  SpanEncoder(const std::string& host,
              const TimelineReader* reader,
              SpanBatches* batches)
      : host_(host),
        reader_(*reader),
        exported_(reader->tracks()),
        batches_(batches) {}

  // Encodes a slice, with the instants in it that wait. Sets what it says of
  // OpenTelemetry itself.
  EncodedSpan EncodeSlice(const Slice& slice, OtelArgs* otel);
  EncodedSpan EncodeTask(const TaskLife& task);
  // Adds the ids to an encoded span, and sends it.
  void Write(EncodedSpan span,
             const SpanIdentity& ids,
             const std::vector<SpanIdentity>& links);

  // Keeps an instant until the slice around it is encoded. If there is none,
  // sends it as a log. REQUIRES: Callbacks::nests_instants, for which instants
  // come in order with slices.
  void AddInstant(const Instant& instant);
  // Sends the instants that wait as logs: their slices have no end.
  void WriteAllLogs();

  // Returns true if a time is not one of the wall clock.
  bool has_no_wall_clock() const { return has_no_wall_clock_; }

 private:
  // An instant, encoded in both ways that it may be written.
  struct WaitingInstant {
    uint64_t time_ns;
    std::string event;
    std::string log;
    std::string category;
  };
  using WaitingInstants = std::vector<WaitingInstant>;

  // A process's Resource, and the version of Tracks that it is from.
  struct KnownResource {
    uint64_t version = 0;
    std::string bytes;  // Empty until it is known.
  };

  uint64_t UnixTimeOf(uint64_t time_ns);
  // Returns the bytes of the process's Resource.
  const std::string& ResourceOf(const TrackPlace& place);
  void ReadArgs(const EventDetails& details, SpanAttributes* attributes) const {
    reader_.ReadArgs(details, UniqueNames::kByText, attributes);
  }
  WaitingInstant Encode(const Instant& instant);
  void AddEvents(const Slice& slice, protozero::otlp_schema::Span* span);
  void WriteLogs(uint64_t track, size_t count, WaitingInstants* instants);

  const std::string host_;
  const TimelineReader& reader_;
  ExportedTracks exported_;
  SpanBatches* const batches_;
  protozero::HeapBuffered<protozero::otlp_schema::Span> span_;
  // By process track and pid.
  std::map<std::pair<uint64_t, int64_t>, KnownResource> resources_;
  std::unordered_map<uint64_t, WaitingInstants> waiting_;  // By track.
  bool has_no_wall_clock_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_ENCODER_H_
