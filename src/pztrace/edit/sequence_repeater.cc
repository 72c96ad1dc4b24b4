// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/edit/sequence_repeater.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::HeapBuffered;
using protozero::ProtoDecoder;
using protozero::internal::ClockTable;
using protozero::internal::SequenceState;
using protozero::trace::ClockSnapshot;
using protozero::trace::ThreadDescriptor;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;
using protozero::trace::TrackEvent;
using Content = ScannedPacket::Content;

using Piece = SequenceRepeater::Piece;

namespace {

// Appends a packet of the writer of |packet|. |fill| gets the TracePacket.
template <typename Fill>
void SayPacket(const ScannedPacket& packet, const Piece& piece, Fill fill) {
  HeapBuffered<Trace> trace;
  TracePacket* const said = trace->add_packet();
  AppendWriter(packet, said);
  fill(said);
  *piece.bytes += trace.SerializeAsString();
}

std::string FieldsBut(const std::string& message,
                      std::initializer_list<uint32_t> left_out) {
  std::string fields;
  ProtoDecoder decoder(message);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (std::find(left_out.begin(), left_out.end(), field.id()) ==
        left_out.end()) {
      field.SerializeAndAppendTo(&fields);
    }
  }
  return fields;
}

bool DependsOnState(const ScannedPacket& packet) {
  return !packet.is_skipped &&
         (packet.content == Content::kEvent || packet.has_timestamp ||
          packet.has_state || packet.is_cleared || packet.needs_state());
}

}  // namespace

void AppendWriter(const ScannedPacket& packet, TracePacket* said) {
  std::string fields;
  ProtoDecoder decoder(packet.bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TracePacket::kTrustedUidFieldNumber:
      case TracePacket::kTrustedPidFieldNumber:
      case TracePacket::kTrustedPacketSequenceIdFieldNumber:
      case protozero::internal::kMachineIdFieldNumber:
        field.SerializeAndAppendTo(&fields);
        break;
      default:
        break;
    }
  }
  said->AppendRawProtoBytes(fields.data(), fields.size());
}

void SequenceRepeater::Begin(const ScannedPacket& packet) {
  const SequenceState& sequence = *packet.sequence;
  was_valid_ = sequence.is_valid;
  references_before_ = sequence.references;
  last_ns_before_ = sequence.last_ns;
  sums_before_ = sequence.sums();
  for (Clock& clock : clocks_)
    clock.ticks_before = clock.state->ticks();
}

void SequenceRepeater::ForgetSaid() {
  said_interned_ = 0;
  has_said_defaults_ = false;
  has_said_thread_ = false;
  said_sums_.clear();
}

void SequenceRepeater::Say(const ScannedPacket& packet, const Piece& piece) {
  if (!DependsOnState(packet))
    return;
  const bool is_new = said_generation_ != generation_;
  if (is_new || has_said_loss_)
    ForgetSaid();
  if (!packet.is_cleared)
    SayState(packet, was_valid_ && (is_new || has_said_loss_), piece);
  has_said_loss_ = false;
  SayClocks(packet, piece);
  if (packet.content == Content::kEvent)
    SayThread(packet, piece);
  if (!packet.is_cleared)
    SaySums(packet, piece);
}

void SequenceRepeater::SayLoss(const ScannedPacket& packet,
                               const Piece& piece) {
  SayPacket(packet, piece,
            [](TracePacket* said) { said->set_previous_packet_dropped(1); });
  has_said_loss_ = true;
}

void SequenceRepeater::SayState(const ScannedPacket& packet,
                                bool clears,
                                const Piece& piece) {
  const bool owes_defaults = !has_said_defaults_ && !defaults_.empty();
  if (!clears && !owes_defaults && said_interned_ == interned_.size())
    return;
  SayPacket(packet, piece, [&](TracePacket* said) {
    if (clears)
      said->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    else if (was_valid_)
      said->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    if (said_interned_ != interned_.size()) {
      said->AppendBytes(TracePacket::kInternedDataFieldNumber,
                        interned_.data() + said_interned_,
                        interned_.size() - said_interned_);
    }
    if (owes_defaults)
      said->AppendString(TracePacket::kTracePacketDefaultsFieldNumber,
                         defaults_);
  });
}

void SequenceRepeater::SayClocks(const ScannedPacket& packet,
                                 const Piece& piece) {
  for (Clock& clock : clocks_) {
    if (!clock.is_owed())
      continue;
    // A packet with clocks says those itself, and others are not needed yet.
    const bool was_said = std::exchange(clock.is_said, false);
    if (packet.has_sequence_clocks)
      continue;
    clock.is_said = true;
    SayPacket(packet, piece, [&](TracePacket* said) {
      // This takes a third of the bytes of a snapshot.
      if (was_said) {
        said->set_timestamp(clock.ticks_before - clock.said_ticks);
        said->set_timestamp_clock_id(clock.id);
        return;
      }
      ClockSnapshot* const snapshot = said->set_clock_snapshot();
      if (clock.state->is_related()) {
        auto* const trace_clock = snapshot->add_clocks();
        trace_clock->set_clock_id(piece.trace_clock);
        trace_clock->set_timestamp(
            clock.state->TraceTimeOf(clock.ticks_before));
      }
      auto* const own_clock = snapshot->add_clocks();
      own_clock->set_clock_id(clock.id);
      own_clock->set_timestamp(clock.ticks_before);
      if (clock.state->is_incremental())
        own_clock->set_is_incremental(true);
      if (clock.state->ns_per_tick() != 1)
        own_clock->set_unit_multiplier_ns(clock.state->ns_per_tick());
      if (piece.trace_clock != ClockTable::kBootTime)
        snapshot->set_primary_trace_clock(piece.trace_clock);
    });
  }
}

void SequenceRepeater::SayThread(const ScannedPacket& packet,
                                 const Piece& piece) {
  if (thread_.empty() ||
      (has_said_thread_ && said_references_ == references_before_)) {
    return;
  }
  // Sequences of today have a track by default, and no differences.
  const bool is_on_thread =
      packet.sequence->default_track == SequenceState::kNoTrack;
  if (!track_.empty() && !is_on_thread &&
      references_before_ == SequenceState::References()) {
    return;
  }
  const auto fill = [&](ThreadDescriptor* thread) {
    const std::string fields = FieldsBut(
        thread_,
        {ThreadDescriptor::kReferenceTimestampUsFieldNumber,
         ThreadDescriptor::kReferenceThreadTimeUsFieldNumber,
         ThreadDescriptor::kReferenceThreadInstructionCountFieldNumber});
    thread->AppendRawProtoBytes(fields.data(), fields.size());
    thread->set_reference_timestamp_us(references_before_.time_us);
    // A track leaves what it does not say.
    if (!track_.empty() || references_before_.thread_time_us != 0)
      thread->set_reference_thread_time_us(references_before_.thread_time_us);
    if (!track_.empty() || references_before_.instructions != 0) {
      thread->set_reference_thread_instruction_count(
          references_before_.instructions);
    }
  };
  SayPacket(packet, piece, [&](TracePacket* said) {
    if (track_.empty())
      return fill(said->set_thread_descriptor());
    TrackDescriptor* const track = said->set_track_descriptor();
    const std::string fields =
        FieldsBut(track_, {TrackDescriptor::kThreadFieldNumber});
    track->AppendRawProtoBytes(fields.data(), fields.size());
    fill(track->set_thread());
  });
  has_said_thread_ = true;
}

void SequenceRepeater::SaySums(const ScannedPacket& packet,
                               const Piece& piece) {
  for (size_t i = 0; i < sums_before_.size(); ++i) {
    const double said_value = i < said_sums_.size() ? said_sums_[i] : 0;
    const double value = sums_before_[i].value - said_value;
    const auto counter = sums_before_[i].counter;
    if (value == 0 || counter >= piece.is_used.size() ||
        !piece.is_used[counter]) {
      continue;
    }
    SayPacket(packet, piece, [&](TracePacket* said) {
      said->set_timestamp(last_ns_before_);
      said->set_timestamp_clock_id(piece.trace_clock);
      TrackEvent* const event = said->set_track_event();
      event->set_type(TrackEvent::TYPE_COUNTER);
      event->set_track_uuid(piece.tables.tracks.SaidUuid(counter));
      // Perfetto's tables show whole numbers as such.
      constexpr double kMaxWhole = 9007199254740992;  // 2^53
      const auto whole = std::abs(value) < kMaxWhole
                             ? static_cast<int64_t>(value)
                             : int64_t{0};
      if (static_cast<double>(whole) == value)
        event->set_counter_value(whole);
      else
        event->set_double_counter_value(value);
    });
  }
}

void SequenceRepeater::End(const ScannedPacket& packet,
                           ClockTable* trace_clocks,
                           bool is_kept) {
  if (packet.is_skipped)
    return;
  if (packet.is_cleared) {
    interned_.clear();
    defaults_.clear();
    ++generation_;
    if (is_kept)
      ForgetSaid();
  }
  if (packet.has_state)
    AddState(packet);
  if (packet.has_sequence_clocks)
    AddClocks(packet, trace_clocks, is_kept);
  if (is_kept && DependsOnState(packet))
    MarkSaid(packet);
  if (packet.content == Content::kTrack && packet.sequence->is_valid)
    AddThreadOfTrack(packet, is_kept);
}

void SequenceRepeater::AddState(const ScannedPacket& packet) {
  ProtoDecoder decoder(packet.bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TracePacket::kInternedDataFieldNumber:
        interned_.append(reinterpret_cast<const char*>(field.data()),
                         field.size());
        break;
      case TracePacket::kTracePacketDefaultsFieldNumber:
        defaults_ = field.as_bytes().ToStdString();
        has_said_defaults_ = false;
        break;
      case TracePacket::kThreadDescriptorFieldNumber:
        thread_ = field.as_bytes().ToStdString();
        track_.clear();
        has_said_thread_ = false;
        break;
      default:
        break;
    }
  }
}

void SequenceRepeater::AddThreadOfTrack(const ScannedPacket& packet,
                                        bool is_kept) {
  const TrackDescriptor::Decoder track(packet.content_bytes);
  if (!track.has_thread())
    return;
  thread_ = track.thread().ToStdString();
  track_ = packet.content_bytes.ToStdString();
  // Readers forget it until the piece has the state of the sequence.
  has_said_thread_ =
      is_kept && said_generation_ == generation_ && !has_said_loss_;
  said_references_ = packet.sequence->references;
}

void SequenceRepeater::AddClocks(const ScannedPacket& packet,
                                 ClockTable* trace_clocks,
                                 bool is_kept) {
  for (const auto entry :
       ClockSnapshot::Decoder(packet.content_bytes).clocks()) {
    const uint32_t id = ClockSnapshot::Clock::Decoder(entry).clock_id();
    if (!ClockTable::IsOfSequence(id))
      continue;
    auto clock = std::find_if(clocks_.begin(), clocks_.end(),
                              [id](const Clock& c) { return c.id == id; });
    if (clock == clocks_.end()) {
      auto* const state = trace_clocks->Find(id, packet.sequence_id);
      // It may be the clock of the trace.
      if (state == nullptr)
        continue;
      clocks_.push_back({id, state});
      clock = clocks_.end() - 1;
    }
    clock->is_said = is_kept;
  }
}

void SequenceRepeater::MarkSaid(const ScannedPacket& packet) {
  said_generation_ = generation_;
  said_interned_ = interned_.size();
  has_said_defaults_ = true;
  if (packet.content == Content::kThread)
    has_said_thread_ = true;
  said_references_ = packet.sequence->references;
  said_sums_.clear();
  for (const SequenceState::Sum& sum : packet.sequence->sums())
    said_sums_.push_back(sum.value);
  for (Clock& clock : clocks_)
    clock.said_ticks = clock.state->ticks();
}

}  // namespace pztrace
