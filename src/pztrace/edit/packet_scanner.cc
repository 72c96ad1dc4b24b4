// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/edit/packet_scanner.h"

#include <utility>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::internal::ClockTable;
using protozero::internal::SequenceState;
using protozero::trace::TracePacket;
using Content = ScannedPacket::Content;

namespace {

Content ContentOf(uint32_t packet_field_id) {
  switch (packet_field_id) {
    case TracePacket::kTrackEventFieldNumber:
      return Content::kEvent;
    case TracePacket::kClockSnapshotFieldNumber:
      return Content::kClocks;
    case TracePacket::kTrackDescriptorFieldNumber:
      return Content::kTrack;
    case TracePacket::kThreadDescriptorFieldNumber:
      return Content::kThread;
    case TracePacket::kProcessTreeFieldNumber:
    case TracePacket::kProcessDescriptorFieldNumber:
    case TracePacket::kExtensionDescriptorFieldNumber:
      return Content::kDescription;
    case TracePacket::kTraceConfigFieldNumber:
    case TracePacket::kTraceStatsFieldNumber:
    case TracePacket::kSynchronizationMarkerFieldNumber:
      return Content::kSession;
    case TracePacket::kCompressedPacketsFieldNumber:
    case TracePacket::kZstdCompressedPacketsFieldNumber:
      return Content::kCompressed;
    case TracePacket::kFirstPacketOnSequenceFieldNumber:
      return Content::kNone;
    default:
      return Content::kOther;
  }
}

bool HasSequenceClocks(ConstBytes snapshot) {
  using protozero::trace::ClockSnapshot;
  for (const auto entry : ClockSnapshot::Decoder(snapshot).clocks()) {
    if (ClockTable::IsOfSequence(
            ClockSnapshot::Clock::Decoder(entry).clock_id())) {
      return true;
    }
  }
  return false;
}

}  // namespace

void ScannedPacket::AddContent(const Field& field) {
  const Content added = ContentOf(field.id());
  // Fields that are not known may come with another one.
  if (added == Content::kNone || content == Content::kEvent ||
      (added == Content::kOther && content != Content::kNone)) {
    return;
  }
  content = added;
  content_id = field.id();
  content_bytes = field.as_bytes();
}

PacketScanner::PacketScanner(TraceTables* tables)
    : tables_(tables),
      callbacks_(MakeCallbacks()),
      order_(/*capacity=*/size_t{1} << 20, this),
      event_reader_({callbacks_, tables->texts, tables->tracks, clocks_,
                     details_, order_}) {
  event_reader_.SkipThreadCounters();
}

protozero::TraceReader::Callbacks PacketScanner::MakeCallbacks() {
  protozero::TraceReader::Callbacks callbacks;
  callbacks.on_instant = [this](const protozero::Instant& instant) {
    moments_.push_back({instant.track, instant.text});
  };
  callbacks.on_counter = [this](const protozero::CounterValue& value) {
    moments_.push_back({value.track, nullptr});
  };
  return callbacks;
}

ScannedPacket PacketScanner::Parse(ConstBytes bytes) {
  ScannedPacket packet;
  packet.bytes = bytes;
  ReadPacketFields(bytes, &packet);
  packet.has_sequence_clocks = packet.content == Content::kClocks &&
                               HasSequenceClocks(packet.content_bytes);
  packet.has_state |=
      packet.has_sequence_clocks || packet.content == Content::kThread;
  // A field that is not known, in a packet that only changes the state.
  if (packet.content == Content::kOther && !packet.has_timestamp &&
      (packet.has_state || packet.is_cleared)) {
    packet.content = Content::kNone;
  }
  packet.sequence =
      &sequences_
           .try_emplace(packet.sequence_id, packet.sequence_id, &tables_->texts)
           .first->second;
  return packet;
}

void PacketScanner::Describe(const ScannedPacket& packet) {
  tables_->tracks.SetWriter(packet.writer());
  switch (packet.content_id) {
    case TracePacket::kTrackDescriptorFieldNumber:
      return tables_->tracks.Describe(packet.content_bytes);
    case TracePacket::kProcessTreeFieldNumber:
      return tables_->tracks.AddProcessTree(packet.content_bytes);
    case TracePacket::kProcessDescriptorFieldNumber:
      return tables_->tracks.AddProcess(packet.content_bytes);
    case TracePacket::kThreadDescriptorFieldNumber:
      tables_->tracks.AddThread(packet.content_bytes);
      return;
    default:
      return;
  }
}

void PacketScanner::Read(ScannedPacket* packet) {
  events_.clear();
  moments_.clear();
  SequenceState* const sequence = packet->sequence;
  tables_->tracks.SetWriter(packet->writer());
  if (packet->is_behind_loss) {
    if (sequence->has_begun)
      event_reader_.AddLoss(sequence);
    sequence->is_valid = false;
  }
  sequence->has_begun = true;
  if (packet->is_cleared)
    sequence->Clear();
  packet->is_skipped = packet->needs_state() && !sequence->is_valid;
  if (!packet->is_skipped && ReadState(packet)) {
    bool is_related = true;
    uint64_t time_ns = sequence->ToTraceTime(
        packet->timestamp, packet->clock_id, &clocks_, &is_related);
    if (packet->content == Content::kEvent) {
      time_ns = event_reader_.Read(packet->content_bytes, time_ns, is_related,
                                   packet->ended_duration, sequence);
      sequence->last_ns = time_ns;
    }
    if (packet->content == Content::kEvent ||
        packet->content == Content::kSession ||
        packet->content == Content::kOther) {
      packet->time_ns = time_ns;
    }
  }
  if (!order_.is_empty())
    order_.Finish();
}

bool PacketScanner::ReadState(ScannedPacket* packet) {
  SequenceState* const sequence = packet->sequence;
  if (packet->has_state) {
    ProtoDecoder decoder(packet->bytes);
    for (Field field = decoder.ReadField(); field;
         field = decoder.ReadField()) {
      if (field.id() == TracePacket::kInternedDataFieldNumber)
        sequence->texts.Add(field.as_bytes(), /*with_details=*/false,
                            /*with_stacks=*/false);
      else if (field.id() == TracePacket::kTracePacketDefaultsFieldNumber)
        sequence->SetDefaults(field.as_bytes(), &tables_->tracks);
    }
  }
  if (packet->content == Content::kThread) {
    sequence->SetThread(packet->content_bytes, /*is_known=*/true,
                        &tables_->tracks);
  }
  if (packet->content == Content::kTrack && sequence->is_valid)
    sequence->SetThreadOfTrack(packet->content_bytes, &tables_->tracks);
  if (packet->content != Content::kClocks)
    return packet->has_timestamp || packet->content == Content::kEvent;
  packet->snapshot_ns =
      clocks_.AddSnapshot(packet->content_bytes, sequence->id);
  using protozero::trace::ClockSnapshot;
  for (const auto entry :
       ClockSnapshot::Decoder(packet->content_bytes).clocks()) {
    const uint32_t id = ClockSnapshot::Clock::Decoder(entry).clock_id();
    auto* const clock =
        ClockTable::IsOfSequence(id) ? clocks_.Find(id, sequence->id) : nullptr;
    if (clock != nullptr && clock->is_related())
      packet->time_ns = clock->TraceTimeOf(clock->ticks());
  }
  return false;
}

}  // namespace pztrace
