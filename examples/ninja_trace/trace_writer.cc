// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/trace_writer.h"

#include <errno.h>
#include <string.h>

#include "examples/ninja_trace/step_kind.h"
#include "examples/ninja_trace/utf8.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/write_status.h"

namespace ninja_trace {

namespace pb = protozero::trace;

namespace {

// The ids of this trace, which are unlikely in others, so that files can be
// concatenated.
constexpr uint32_t kSequenceId = 0x6e696e6a;
constexpr uint64_t kProcessTrack = uint64_t{kSequenceId} << 32;
constexpr uint64_t SlotTrack(size_t slot) {
  return kProcessTrack + 1 + slot;
}

// A number for viewers, which want one. The log does not say which process
// ninja was.
constexpr int32_t kPid = 1;

// Returns the id of a string that many packets need. It is written once, and
// this program may choose the ids.
constexpr uint64_t CategoryId(StepKind kind) {
  return 1 + static_cast<uint64_t>(kind);
}
constexpr uint64_t kBuildCategoryId = 1 + kStepKindCount;

enum AnnotationNameId : uint64_t {
  kCommandHash = 1,
  kMtime,
  kOutputs,
};

void AddCategory(uint64_t id, const char* name, pb::InternedData* strings) {
  pb::EventCategory* category = strings->add_event_categories();
  category->set_iid(id);
  category->set_name(name);
}

void AddAnnotationName(AnnotationNameId id,
                       const char* name,
                       pb::InternedData* strings) {
  pb::DebugAnnotationName* annotation = strings->add_debug_annotation_names();
  annotation->set_iid(id);
  annotation->set_name(name);
}

void AddStrings(pb::InternedData* strings) {
  for (size_t i = 0; i < kStepKindCount; ++i) {
    const StepKind kind = static_cast<StepKind>(i);
    AddCategory(CategoryId(kind), StepKindName(kind), strings);
  }
  AddCategory(kBuildCategoryId, "build", strings);
  AddAnnotationName(kCommandHash, "command hash", strings);
  AddAnnotationName(kMtime, "mtime", strings);
  AddAnnotationName(kOutputs, "outputs", strings);
}

}  // namespace

TraceWriter::TraceWriter(FILE* file, std::string_view process_name)
    : file_(file) {
  WriteProcessTrack(process_name);
}

void TraceWriter::WriteProcessTrack(std::string_view process_name) {
  pb::TracePacket* packet = BeginPacket();
  packet->set_first_packet_on_sequence(true);
  packet->set_sequence_flags(pb::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  AddStrings(packet->set_interned_data());

  pb::TrackDescriptor* track = packet->set_track_descriptor();
  track->set_uuid(kProcessTrack);
  track->set_child_ordering(pb::TrackDescriptor::EXPLICIT);
  pb::ProcessDescriptor* process = track->set_process();
  process->set_pid(kPid);
  process->set_process_name(MakeValidUtf8(process_name));
}

void TraceWriter::WriteSlotTrack(size_t slot) {
  pb::TrackDescriptor* track = BeginPacket()->set_track_descriptor();
  track->set_uuid(SlotTrack(slot));
  track->set_parent_uuid(kProcessTrack);
  track->set_name("slot " + std::to_string(slot + 1));
  track->set_sibling_order_rank(static_cast<int32_t>(slot));
}

void TraceWriter::BeginBuild(size_t number, uint64_t time) {
  pb::TrackEvent* event =
      BeginEvent(pb::TrackEvent::TYPE_SLICE_BEGIN, kProcessTrack, time);
  event->add_category_iids(kBuildCategoryId);
  event->set_name("build " + std::to_string(number));
}

void TraceWriter::EndBuild(uint64_t time) {
  BeginEvent(pb::TrackEvent::TYPE_SLICE_END, kProcessTrack, time);
}

void TraceWriter::BeginStep(size_t slot, const BuildStep& step, uint64_t time) {
  if (slot == slot_tracks_) {
    WriteSlotTrack(slot);
    ++slot_tracks_;
  }

  const std::string& name = step.outputs.front();
  pb::TrackEvent* event =
      BeginEvent(pb::TrackEvent::TYPE_SLICE_BEGIN, SlotTrack(slot), time);
  event->add_category_iids(CategoryId(GuessStepKind(name)));
  event->set_name(MakeValidUtf8(name));

  pb::DebugAnnotation* hash = event->add_debug_annotations();
  hash->set_name_iid(kCommandHash);
  hash->set_pointer_value(step.command_hash);

  if (step.mtime != 0) {
    pb::DebugAnnotation* mtime = event->add_debug_annotations();
    mtime->set_name_iid(kMtime);
    mtime->set_int_value(step.mtime);
  }

  if (step.outputs.size() > 1) {
    pb::DebugAnnotation* outputs = event->add_debug_annotations();
    outputs->set_name_iid(kOutputs);
    for (const std::string& output : step.outputs)
      outputs->add_array_values()->set_string_value(MakeValidUtf8(output));
  }
}

void TraceWriter::EndStep(size_t slot, uint64_t time) {
  BeginEvent(pb::TrackEvent::TYPE_SLICE_END, SlotTrack(slot), time);
}

bool TraceWriter::Finish() {
  WriteBatch();
  if (error_.empty() && fflush(file_) != 0)
    error_ = strerror(errno);
  return error_.empty();
}

pb::TracePacket* TraceWriter::BeginPacket() {
  if (batch_->stream_writer()->written() - batches_size_ >= kBatchSize)
    WriteBatch();
  ++packet_count_;
  // This call also ends the packet before, and all messages in it.
  pb::TracePacket* packet = batch_->add_packet();
  packet->set_trusted_packet_sequence_id(kSequenceId);
  return packet;
}

pb::TrackEvent* TraceWriter::BeginEvent(pb::TrackEvent_Type type,
                                        uint64_t track,
                                        uint64_t time) {
  pb::TracePacket* packet = BeginPacket();
  packet->set_timestamp(time);
  packet->set_sequence_flags(pb::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  pb::TrackEvent* event = packet->set_track_event();
  event->set_type(type);
  event->set_track_uuid(track);
  return event;
}

void TraceWriter::WriteBatch() {
  const std::vector<protozero::ContiguousMemoryRange> ranges =
      batch_.GetRanges();
  if (error_.empty() && !batch_.ok())
    error_ = protozero::WriteStatusToString(batch_.status());
  for (const protozero::ContiguousMemoryRange& range : ranges) {
    if (error_.empty() &&
        fwrite(range.begin, 1, range.size(), file_) != range.size()) {
      error_ = strerror(errno);
    }
  }
  batches_size_ = batch_->stream_writer()->written();
  batch_.Reset();
}

}  // namespace ninja_trace
