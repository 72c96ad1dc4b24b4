// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/track_event/trace_reader.h"

#include <inttypes.h>
#include <stdio.h>

#include "protozero/proto_decoder.h"

namespace trace = protozero::trace;

namespace {

using Strings = std::map<uint64_t, std::string>;

struct Sequence {
  bool is_valid = false;
  Strings categories;
  Strings names;
  Strings keys;
  uint64_t track = 0;
  uint32_t clock = 6;
  uint64_t time = 0;
  std::set<uint64_t> described;
  uint64_t last_time = 0;
};

class Reader {
 public:
  ReadTrace Read(const std::string& bytes);

 private:
  void OnPacket(protozero::ConstBytes bytes);
  void OnInterned(protozero::ConstBytes bytes);
  void OnClocks(protozero::ConstBytes bytes);
  void OnTrack(protozero::ConstBytes bytes);
  void OnEvent(protozero::ConstBytes bytes, uint64_t time);
  std::string Value(const trace::DebugAnnotation::Decoder& annotation);
  std::string Key(const trace::DebugAnnotation::Decoder& annotation);
  std::string Resolve(const Strings& strings, uint64_t iid, const char* what) {
    const auto it = strings.find(iid);
    if (it != strings.end())
      return it->second;
    Error(std::string("unknown ") + what + " " + std::to_string(iid));
    return "?";
  }
  template <typename Decoder>
  void Add(Strings* strings, protozero::ConstBytes bytes) {
    const Decoder entry(bytes);
    if (entry.iid() == 0)
      Error("an interned id of 0");
    if (!strings->emplace(entry.iid(), entry.name().ToStdString()).second)
      Error("interned twice: " + entry.name().ToStdString());
  }
  void Error(const std::string& error) { result_.errors.push_back(error); }

  ReadTrace result_;
  std::map<uint32_t, Sequence> sequences_;
  uint32_t id_ = 0;
  Sequence* sequence_ = nullptr;
};

ReadTrace Reader::Read(const std::string& bytes) {
  protozero::ProtoDecoder decoder(bytes.data(), bytes.size());
  for (auto field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    OnPacket(field.as_bytes());
  }
  if (decoder.bytes_left() != 0)
    Error("malformed trace");
  // Another sequence may describe a track, but one has to.
  for (const auto& [uuid, track] : result_.tracks) {
    if (track.parent != 0 && result_.tracks.count(track.parent) == 0)
      Error("no parent of " + track.name);
  }
  return std::move(result_);
}

void Reader::OnPacket(protozero::ConstBytes bytes) {
  const trace::TracePacket::Decoder packet(bytes);
  id_ = packet.trusted_packet_sequence_id();
  // LocalTrace repeats the descriptors that a ring buffer may have overwritten.
  if (id_ == 0 && packet.has_extension_descriptor())
    return;
  if (id_ == 0)
    return Error("no sequence");
  sequence_ = &sequences_[id_];
  const uint32_t flags = packet.sequence_flags();
  if (packet.previous_packet_dropped() != 0)
    sequence_->is_valid = false;
  if (flags & trace::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
    ++result_.num_clears;
    const uint64_t last_time = sequence_->last_time;
    *sequence_ = Sequence();
    sequence_->is_valid = true;
    sequence_->last_time = last_time;
  }
  if ((flags & trace::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) &&
      !sequence_->is_valid) {
    ++result_.num_skipped;
    return;
  }
  if (packet.has_trace_packet_defaults()) {
    const trace::TracePacketDefaults::Decoder defaults(
        packet.trace_packet_defaults());
    sequence_->clock = defaults.timestamp_clock_id();
    const trace::TrackEventDefaults::Decoder of_events(
        defaults.track_event_defaults());
    sequence_->track = of_events.track_uuid();
  }
  if (packet.has_interned_data())
    OnInterned(packet.interned_data());
  if (packet.has_clock_snapshot())
    return OnClocks(packet.clock_snapshot());
  uint64_t time = packet.timestamp();
  const uint32_t clock = packet.has_timestamp_clock_id()
                             ? packet.timestamp_clock_id()
                             : sequence_->clock;
  if (clock == 64) {
    time = sequence_->time += time;
    if (time < sequence_->last_time)
      Error("time goes back");
    sequence_->last_time = time;
  }
  if (packet.has_track_descriptor())
    OnTrack(packet.track_descriptor());
  if (packet.has_track_event()) {
    if ((flags & trace::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE) == 0)
      Error("an event without flags");
    OnEvent(packet.track_event(), time);
  }
}

void Reader::OnInterned(protozero::ConstBytes bytes) {
  const trace::InternedData::Decoder data(bytes);
  for (const auto entry : data.event_categories())
    Add<trace::EventCategory::Decoder>(&sequence_->categories, entry);
  for (const auto entry : data.event_names())
    Add<trace::EventName::Decoder>(&sequence_->names, entry);
  for (const auto entry : data.debug_annotation_names())
    Add<trace::DebugAnnotationName::Decoder>(&sequence_->keys, entry);
}

void Reader::OnClocks(protozero::ConstBytes bytes) {
  const trace::ClockSnapshot::Decoder snapshot(bytes);
  for (const auto entry : snapshot.clocks()) {
    const trace::ClockSnapshot::Clock::Decoder clock(entry);
    if (clock.clock_id() == 64)
      sequence_->time = clock.timestamp();
  }
}

void Reader::OnTrack(protozero::ConstBytes bytes) {
  const trace::TrackDescriptor::Decoder descriptor(bytes);
  ReadTrack track;
  track.parent = descriptor.parent_uuid();
  track.name = descriptor.name().ToStdString();
  track.description = descriptor.description().ToStdString();
  track.is_counter = descriptor.has_counter();
  if (track.is_counter) {
    const trace::CounterDescriptor::Decoder counter(descriptor.counter());
    track.unit = static_cast<int>(counter.unit());
    track.unit_name = counter.unit_name().ToStdString();
  }
  if (descriptor.has_process()) {
    const trace::ProcessDescriptor::Decoder process(descriptor.process());
    track.pid = process.pid();
    track.process_name = process.process_name().ToStdString();
  }
  if (descriptor.has_thread()) {
    const trace::ThreadDescriptor::Decoder thread(descriptor.thread());
    track.pid = thread.pid();
    track.tid = thread.tid();
    track.thread_name = thread.thread_name().ToStdString();
  }
  const uint64_t uuid = descriptor.uuid();
  if (uuid == 0)
    Error("a track of number 0");
  const auto [it, is_new] = result_.tracks.emplace(uuid, track);
  if (!is_new && (it->second.parent != track.parent ||
                  it->second.pid != track.pid || it->second.tid != track.tid ||
                  it->second.is_counter != track.is_counter)) {
    Error("two descriptions of " + track.name);
  }
  if (!is_new)
    it->second = track;
  sequence_->described.insert(uuid);
}

std::string Reader::Key(const trace::DebugAnnotation::Decoder& annotation) {
  return annotation.has_name_iid()
             ? Resolve(sequence_->keys, annotation.name_iid(), "key")
             : annotation.name().ToStdString();
}

std::string Reader::Value(const trace::DebugAnnotation::Decoder& annotation) {
  char text[64];
  if (annotation.has_bool_value())
    return annotation.bool_value() ? "true" : "false";
  if (annotation.has_uint_value())
    return std::to_string(annotation.uint_value()) + "u";
  if (annotation.has_int_value())
    return std::to_string(annotation.int_value());
  if (annotation.has_double_value()) {
    snprintf(text, sizeof(text), "%g", annotation.double_value());
    return text;
  }
  if (annotation.has_string_value())
    return "'" + annotation.string_value().ToStdString() + "'";
  if (annotation.has_pointer_value()) {
    snprintf(text, sizeof(text), "0x%" PRIx64, annotation.pointer_value());
    return text;
  }
  std::string list;
  for (const auto entry : annotation.dict_entries()) {
    const trace::DebugAnnotation::Decoder nested(entry);
    list += (list.empty() ? "" : ",") + Key(nested) + "=" + Value(nested);
  }
  if (annotation.has_dict_entries())
    return "{" + list + "}";
  for (const auto entry : annotation.array_values()) {
    const trace::DebugAnnotation::Decoder nested(entry);
    list += (list.empty() ? "" : ",") + Value(nested);
  }
  return "[" + list + "]";
}

void Reader::OnEvent(protozero::ConstBytes bytes, uint64_t time) {
  const trace::TrackEvent::Decoder event(bytes);
  ReadEvent read;
  read.sequence = id_;
  read.time = time;
  read.type = static_cast<int>(event.type());
  for (const uint64_t iid : event.category_iids())
    read.categories.push_back(Resolve(sequence_->categories, iid, "category"));
  for (const auto category : event.categories())
    read.categories.push_back(category.ToStdString());
  read.name = event.has_name_iid()
                  ? Resolve(sequence_->names, event.name_iid(), "name")
                  : event.name().ToStdString();
  read.track = event.has_track_uuid() ? event.track_uuid() : sequence_->track;
  if (sequence_->described.count(read.track) == 0)
    Error("an event on a track that is not described: " + read.name);
  for (const auto entry : event.debug_annotations()) {
    const trace::DebugAnnotation::Decoder annotation(entry);
    read.args.push_back(Key(annotation) + "=" + Value(annotation));
  }
  for (const uint64_t flow : event.flow_ids())
    read.flows.push_back(flow);
  for (const uint64_t flow : event.terminating_flow_ids())
    read.terminating_flows.push_back(flow);
  if (event.has_correlation_id())
    read.correlation = std::to_string(event.correlation_id());
  if (event.has_correlation_id_str())
    read.correlation = event.correlation_id_str().ToStdString();
  if (event.has_source_location()) {
    const trace::SourceLocation::Decoder location(event.source_location());
    read.location = location.file_name().ToStdString() + ":" +
                    location.function_name().ToStdString();
  }
  if (event.has_counter_value())
    read.value = std::to_string(event.counter_value());
  if (event.has_double_counter_value())
    read.value = std::to_string(event.double_counter_value());
  read.bytes.assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
  result_.events.push_back(std::move(read));
}

}  // namespace

ReadTrace Read(const std::string& trace) {
  return Reader().Read(trace);
}
