// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/testing/trace_checker.h"

#include <algorithm>
#include <iterator>

namespace ninja_trace {

namespace pb = perfetto::protos;

namespace {

// Returns whether |message|, or one nested in it, has a field that its schema
// does not have.
bool HasUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty())
    return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      if (HasUnknownFields(reflection->GetMessage(message, field)))
        return true;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      if (HasUnknownFields(reflection->GetRepeatedMessage(message, field, i)))
        return true;
    }
  }
  return false;
}

}  // namespace

TraceChecker::TraceChecker(const std::string& bytes) {
  pb::Trace trace;
  if (!trace.ParseFromString(bytes)) {
    Problem("not a trace");
    return;
  }
  if (HasUnknownFields(trace))
    Problem("unknown field");

  for (const Packet& packet : trace.packet()) {
    ++packet_count_;
    CheckSequence(packet);
    if (packet.has_interned_data())
      ReadStrings(packet.interned_data());
    switch (packet.data_case()) {
      case Packet::kTrackDescriptor:
        ReadTrack(packet.track_descriptor());
        break;
      case Packet::kTrackEvent:
        ReadEvent(packet);
        break;
      default:
        Problem("packet without a use");
    }
  }
  for (const auto& [track, open] : open_slices_) {
    if (!open.empty())
      Problem("slice without an end");
  }
}

std::vector<Slice> TraceChecker::steps() const {
  std::vector<Slice> steps;
  std::copy_if(slices_.begin(), slices_.end(), std::back_inserter(steps),
               [](const Slice& slice) { return slice.category != "build"; });
  return steps;
}

std::vector<std::string> TraceChecker::track_names() const {
  std::vector<std::pair<int32_t, std::string>> ranked = ranked_tracks_;
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (const auto& [rank, name] : ranked)
    names.push_back(name);
  return names;
}

void TraceChecker::Problem(const std::string& what) {
  problems_.push_back("packet " + std::to_string(packet_count_) + ": " + what);
}

void TraceChecker::CheckSequence(const Packet& packet) {
  const bool is_first = packet_count_ == 1;
  if (is_first)
    sequence_ = packet.trusted_packet_sequence_id();
  if (packet.trusted_packet_sequence_id() == 0)
    Problem("packet on no sequence");
  if (packet.trusted_packet_sequence_id() != sequence_)
    Problem("another sequence");
  if (packet.first_packet_on_sequence() != is_first)
    Problem("wrong first_packet_on_sequence");
  const bool clears =
      (packet.sequence_flags() & Packet::SEQ_INCREMENTAL_STATE_CLEARED) != 0;
  if (clears != is_first)
    Problem("wrong SEQ_INCREMENTAL_STATE_CLEARED");
}

void TraceChecker::ReadStrings(const pb::InternedData& strings) {
  for (const pb::EventCategory& category : strings.event_categories()) {
    if (category.iid() == 0 ||
        !categories_.emplace(category.iid(), category.name()).second) {
      Problem("bad category id");
    }
  }
  for (const pb::DebugAnnotationName& name : strings.debug_annotation_names()) {
    if (name.iid() == 0 ||
        !annotation_names_.emplace(name.iid(), name.name()).second) {
      Problem("bad annotation name id");
    }
  }
}

void TraceChecker::ReadTrack(const pb::TrackDescriptor& track) {
  std::string name = track.name();
  if (track.has_process()) {
    name = process_name_ = track.process().process_name();
    if (track.process().pid() == 0)
      Problem("process without a pid");
    if (track.child_ordering() != pb::TrackDescriptor::EXPLICIT)
      Problem("child tracks in no order");
  } else {
    ranked_tracks_.emplace_back(track.sibling_order_rank(), name);
    if (tracks_.count(track.parent_uuid()) == 0)
      Problem("track without a known parent");
  }
  if (name.empty())
    Problem("track without a name");
  if (track.uuid() == 0 || !tracks_.emplace(track.uuid(), name).second)
    Problem("bad track uuid");
}

void TraceChecker::ReadEvent(const Packet& packet) {
  const pb::TrackEvent& event = packet.track_event();
  if (!packet.has_timestamp())
    Problem("event without a timestamp");
  if (packet.timestamp() < last_time_)
    Problem("time goes backwards");
  last_time_ = packet.timestamp();

  const auto track = tracks_.find(event.track_uuid());
  if (track == tracks_.end()) {
    Problem("event on an unknown track");
    return;
  }
  std::vector<size_t>& open = open_slices_[event.track_uuid()];
  if (event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) {
    if (!open.empty())
      Problem("slices of one track overlap");
    if ((packet.sequence_flags() & Packet::SEQ_NEEDS_INCREMENTAL_STATE) == 0)
      Problem("ids without SEQ_NEEDS_INCREMENTAL_STATE");
    open.push_back(slices_.size());
    Slice& slice = slices_.emplace_back();
    slice.track = track->second;
    slice.name = event.name();
    slice.begin = packet.timestamp();
    if (event.category_iids_size() == 1) {
      slice.category = Find(categories_, event.category_iids(0));
    } else {
      Problem("slice without a category");
    }
    if (slice.name.empty())
      Problem("slice without a name");
    ReadAnnotations(event, &slice);
  } else if (event.type() == pb::TrackEvent::TYPE_SLICE_END) {
    if (open.empty()) {
      Problem("end without a beginning");
      return;
    }
    slices_[open.back()].end = packet.timestamp();
    open.pop_back();
  } else {
    Problem("event of unexpected type");
  }
}

void TraceChecker::ReadAnnotations(const pb::TrackEvent& event, Slice* slice) {
  for (const pb::DebugAnnotation& annotation : event.debug_annotations()) {
    const std::string name = Find(annotation_names_, annotation.name_iid());
    if (name == "command hash" && annotation.has_pointer_value()) {
      slice->command_hash = annotation.pointer_value();
    } else if (name == "mtime" && annotation.has_int_value()) {
      slice->mtime = annotation.int_value();
    } else if (name == "outputs" && annotation.array_values_size() > 1) {
      for (const pb::DebugAnnotation& value : annotation.array_values())
        slice->outputs.push_back(value.string_value());
    } else {
      Problem("unexpected annotation");
    }
  }
}

std::string TraceChecker::Find(const std::map<uint64_t, std::string>& strings,
                               uint64_t id) {
  const auto string = strings.find(id);
  if (string != strings.end())
    return string->second;
  Problem("unknown id of a string");
  return std::string();
}

}  // namespace ninja_trace
