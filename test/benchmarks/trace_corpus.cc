// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/trace_corpus.h"

#include <algorithm>
#include <utility>

#include "test/benchmarks/fill.h"
#include "test/benchmarks/perfetto_trace.pb.h"

namespace protozero {
namespace bench {

namespace {

using ::perfetto::protos::Trace;
using ::perfetto::protos::TracePacket;

TraceString StringOf(const std::string& string) {
  return {string.c_str(), string.size()};
}

template <typename Names>
std::vector<TraceName> NamesOf(const Names& names) {
  std::vector<TraceName> result;
  for (const auto& name : names)
    result.push_back({name.iid(), StringOf(name.name())});
  return result;
}

TraceAnnotation AnnotationOf(
    const ::perfetto::protos::DebugAnnotation& annotation) {
  TraceAnnotation result = {
      annotation.name_iid(), TraceAnnotation::Kind::kStrings, 0, {}};
  if (annotation.has_pointer_value()) {
    result.kind = TraceAnnotation::Kind::kPointer;
    result.value = annotation.pointer_value();
  } else if (annotation.has_int_value()) {
    result.kind = TraceAnnotation::Kind::kInt;
    result.value = static_cast<uint64_t>(annotation.int_value());
  } else {
    for (const auto& value : annotation.array_values())
      result.strings.push_back(StringOf(value.string_value()));
  }
  return result;
}

// Returns the part of the packet that fits in the input. The strings point into
// `packet`.
TracePacketInput InputOf(const TracePacket& packet) {
  using Kind = TracePacketInput::Kind;
  const auto& event = packet.track_event();
  const auto& track = packet.track_descriptor();
  TracePacketInput input = {};
  input.sequence_id = packet.trusted_packet_sequence_id();
  input.sequence_flags = packet.sequence_flags();
  input.timestamp = packet.timestamp();
  if (packet.has_track_event()) {
    input.kind = event.has_name() ? Kind::kSliceBegin : Kind::kSliceEnd;
    input.track_uuid = event.track_uuid();
    input.category_iid =
        event.category_iids_size() > 0 ? event.category_iids(0) : 0;
    input.name = StringOf(event.name());
    for (const auto& annotation : event.debug_annotations())
      input.annotations.push_back(AnnotationOf(annotation));
  } else {
    input.kind = packet.has_interned_data() ? Kind::kStrings : Kind::kTrack;
    input.track_uuid = track.uuid();
    input.parent_uuid = track.parent_uuid();
    input.name = StringOf(track.name());
    input.sibling_order_rank = track.sibling_order_rank();
    input.categories = NamesOf(packet.interned_data().event_categories());
    input.annotation_names =
        NamesOf(packet.interned_data().debug_annotation_names());
    input.child_ordering = track.child_ordering();
    input.pid = track.process().pid();
    input.process_name = StringOf(track.process().process_name());
  }
  return input;
}

}  // namespace

std::shared_ptr<const TraceCorpus> ParseTrace(const std::string& trace,
                                              std::string* error) {
  auto parsed = std::make_shared<Trace>();
  if (!parsed->ParseFromString(trace)) {
    *error = "not a trace";
    return nullptr;
  }
  if (parsed->packet_size() == 0) {
    *error = "no packets";
    return nullptr;
  }
  auto corpus = std::make_shared<TraceCorpus>();
  for (const TracePacket& packet : parsed->packet()) {
    const TracePacketInput input = InputOf(packet);
    TracePacket again;
    MixedCorpusWorkload::Fill(&again, &input);
    // Serialization includes unknown fields, so the test notices each loss.
    const std::string bytes = packet.SerializeAsString();
    if (again.SerializeAsString() != bytes) {
      *error = "packet " + std::to_string(corpus->packets.size()) +
               " is not one that examples/ninja_trace writes";
      return nullptr;
    }
    corpus->packets.push_back(input);
    corpus->bytes += bytes.size();
    corpus->largest_packet = std::max(corpus->largest_packet, bytes.size());
  }
  corpus->storage = std::move(parsed);
  return corpus;
}

std::unique_ptr<InputCycle<TracePacketInput>> MakeTracePackets(
    const std::shared_ptr<const TraceCorpus>& corpus) {
  // The number of inputs is a power of two, and the number of packets is not.
  // With several rounds, it does not matter that the last one ends early.
  constexpr size_t kRounds = 4;
  size_t size = 4096;
  while (size < kRounds * corpus->packets.size())
    size *= 2;
  std::vector<TracePacketInput> inputs;
  inputs.reserve(size);
  for (size_t i = 0; i < size; ++i)
    inputs.push_back(corpus->packets[i % corpus->packets.size()]);
  return std::make_unique<InputCycle<TracePacketInput>>(std::move(inputs), size,
                                                        corpus);
}

}  // namespace bench
}  // namespace protozero
