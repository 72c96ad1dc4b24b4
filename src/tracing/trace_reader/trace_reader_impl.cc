// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/trace_reader_impl.h"

#include <algorithm>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/event_prefix.h"
#include "src/tracing/trace_reader/packet_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::TracePacket;

namespace {

bool IsFromKernel(uint32_t field_id) {
  return field_id == TracePacket::kGenericKernelTaskStateEventFieldNumber ||
         field_id == TracePacket::kGenericKernelTaskRenameEventFieldNumber ||
         field_id == TracePacket::kGenericKernelProcessTreeFieldNumber ||
         field_id == TracePacket::kStackSampleFieldNumber ||
         field_id == TracePacket::kModuleSymbolsFieldNumber ||
         field_id == TracePacket::kFtraceEventsFieldNumber;
}

class ReadKernelPacket final : public KernelPacket {
 public:
  ReadKernelPacket(uint32_t field_id,
                   ConstBytes bytes,
                   std::optional<uint64_t> time_ns,
                   const SequenceState& sequence)
      : field_id_(field_id),
        bytes_(bytes),
        time_ns_(time_ns),
        sequence_(sequence) {}

  uint32_t field_id() const override { return field_id_; }
  ConstBytes message() const override { return bytes_; }
  std::optional<uint64_t> time_ns() const override { return time_ns_; }
  uint32_t sequence() const override { return sequence_.id; }
  uint64_t num_gaps() const override { return sequence_.num_gaps; }
  uint64_t num_clears() const override { return sequence_.num_clears; }
  ConstBytes FindInterned(uint32_t list, uint64_t iid) const override {
    return sequence_.texts.FindEntry(list, iid);
  }

 private:
  const uint32_t field_id_;
  const ConstBytes bytes_;
  const std::optional<uint64_t> time_ns_;
  const SequenceState& sequence_;
};

}  // namespace

// The fields of a TracePacket.
struct TraceReaderImpl::Packet : PacketHeader {
  void SetEvent(const Field& field) {
    event = field.as_bytes();
    has_event = true;
  }
  void AddState() { has_more = true; }
  void AddContent(const Field& field) {
    if (!IsFromKernel(field.id())) {
      has_more = true;
      return;
    }
    kernel_field_id = field.id();
    kernel_bytes = field.as_bytes();
  }

  bool has_event = false;
  uint32_t kernel_field_id = 0;  // 0 for none.
  ConstBytes kernel_bytes;
  bool has_more = false;  // True if ReadMore() reads some fields.
  ConstBytes event;
};

TraceReaderImpl::TraceReaderImpl(TraceReader::Callbacks callbacks)
    : callbacks_(std::move(callbacks)) {}

namespace {

// Adds to a sum that does not overflow: many losses never add up to none.
void AddUpTo64Bits(uint64_t number, uint64_t* sum) {
  *sum += std::min(number, UINT64_MAX - *sum);
}

// Calls |read| with each packet. Returns false if |packets| are not whole.
template <typename Function>
bool ForEachPacket(ConstBytes packets, Function read) {
  ProtoDecoder decoder(packets);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == trace::Trace::kPacketFieldNumber)
      read(field.as_bytes());
  }
  return decoder.bytes_left() == 0;
}

}  // namespace

bool TraceReaderImpl::Read(ConstBytes packets) {
  clocks_.RelateAhead();
  return ForEachPacket(packets, [this](ConstBytes bytes) { OnPacket(bytes); });
}

template <typename Function>
bool TraceReaderImpl::ReadInflated(uint32_t field_id,
                                   ConstBytes bytes,
                                   Function read) {
  std::string packets;
  // Inflates only once: inflated packets may be inflated again, without an end.
  if (is_inflated_ || !callbacks_.inflate ||
      !callbacks_.inflate(field_id, bytes, &packets)) {
    return false;
  }
  is_inflated_ = true;
  read({reinterpret_cast<const uint8_t*>(packets.data()), packets.size()});
  is_inflated_ = false;
  return true;
}

SequenceState* TraceReaderImpl::SequenceOf(uint32_t id) {
  if (last_sequence_ == nullptr || last_sequence_->id != id)
    last_sequence_ = &sequences_.try_emplace(id, id, &texts_).first->second;
  return last_sequence_;
}

void TraceReaderImpl::OnPacket(ConstBytes bytes) {
  Packet packet;
  ReadPacketFields(bytes, &packet);
  tracks_.SetWriter(packet.writer());

  SequenceState* const sequence = SequenceOf(packet.sequence_id);
  if (packet.is_behind_loss)
    OnGap(packet, sequence);
  sequence->has_begun = true;
  if (packet.is_cleared)
    sequence->Clear();
  if (packet.needs_state() && !sequence->is_valid) {
    ++skipped_;
    skipped_by_loss_ += sequence->has_gap;
    sequence->lacks_steps = true;
    return;
  }
  // The time of a packet with a snapshot does not advance a clock.
  if (packet.has_more && ReadMore(bytes, packet, sequence))
    return;
  if (packet.kernel_field_id != 0)
    return OnKernelPacket(packet, sequence);
  if (!packet.has_timestamp && !packet.has_event)
    return;
  bool is_related = true;
  uint64_t time_ns = sequence->ToTraceTime(packet.timestamp, packet.clock_id,
                                           &clocks_, &is_related);
  if (callbacks_.skips_events)
    return;
  if (!packet.has_event) {
    if (is_related && !packet.is_of_other_machine())
      last_packet_ns_ = std::max(last_packet_ns_, time_ns);
    return;
  }
  time_ns = events_.Read(packet.event, time_ns, is_related,
                         packet.ended_duration, sequence);
  OnTime(time_ns, sequence);
  if (callbacks_.on_task_step)
    task_steps_.Read(packet.event, time_ns, sequence);
}

void TraceReaderImpl::OnKernelPacket(const Packet& packet,
                                     SequenceState* sequence) {
  // Bundles of many events have no time, and are not read.
  if (packet.kernel_field_id == TracePacket::kFtraceEventsFieldNumber &&
      !packet.has_timestamp) {
    return events_.AddUnread(NameOfUnread(packet.kernel_field_id));
  }
  // The processes and clocks of other machines are not those of the host.
  if (packet.is_of_other_machine())
    return;
  if (packet.kernel_field_id ==
      TracePacket::kGenericKernelProcessTreeFieldNumber)
    tracks_.SetHasKernelTree();
  std::optional<uint64_t> time_ns;
  bool is_related = true;
  if (packet.has_timestamp) {
    time_ns = sequence->ToTraceTime(packet.timestamp, packet.clock_id, &clocks_,
                                    &is_related);
    if (is_related)
      last_packet_ns_ = std::max(last_packet_ns_, *time_ns);
    else
      time_ns.reset();
  }
  if (callbacks_.on_kernel_packet) {
    callbacks_.on_kernel_packet(ReadKernelPacket(
        packet.kernel_field_id, packet.kernel_bytes, time_ns, *sequence));
  }
}

bool TraceReaderImpl::ReadMore(ConstBytes bytes,
                               const Packet& packet,
                               SequenceState* sequence) {
  ConstBytes clock_snapshot;
  ProtoDecoder decoder(bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TracePacket::kInternedDataFieldNumber:
        sequence->texts.Add(field.as_bytes(), callbacks_.reads_details,
                            static_cast<bool>(callbacks_.on_kernel_packet));
        if (callbacks_.on_task_step)
          task_steps_.AddInterned(field.as_bytes(), sequence);
        break;
      case TracePacket::kTracePacketDefaultsFieldNumber:
        sequence->SetDefaults(field.as_bytes(), &tracks_);
        break;
      case TracePacket::kClockSnapshotFieldNumber:
        clock_snapshot = field.as_bytes();
        break;
      case TracePacket::kTraceStatsFieldNumber:
        OnStats(field.as_bytes());
        break;
      case TracePacket::kThreadDescriptorFieldNumber:
        sequence->SetThread(field.as_bytes(), has_read_ahead_, &tracks_);
        break;
      case TracePacket::kTrackDescriptorFieldNumber:
        if (!has_read_ahead_) {
          ReadDescription(field);
          sequence->FindDefaultTrack(&tracks_);
        }
        if (sequence->is_valid)
          sequence->SetThreadOfTrack(field.as_bytes(), &tracks_);
        break;
      case TracePacket::kCompressedPacketsFieldNumber:
      case TracePacket::kZstdCompressedPacketsFieldNumber:
        if (!ReadInflated(field.id(), field.as_bytes(),
                          [this](ConstBytes packets) { Read(packets); })) {
          events_.AddUnread(
              field.id() == TracePacket::kZstdCompressedPacketsFieldNumber
                  ? "packets compressed with Zstandard"
                  : "compressed packets");
        }
        break;
      default:
        if (!has_read_ahead_) {
          ReadDescription(field);
          sequence->FindDefaultTrack(&tracks_);
        }
        if (const char* name = NameOfUnread(field.id()))
          events_.AddUnread(name);
        break;
    }
  }
  if (clock_snapshot.data == nullptr)
    return false;
  const uint32_t trace_clock = clocks_.trace_clock();
  const auto time_ns = clocks_.AddSnapshot(clock_snapshot, sequence->id);
  if (clocks_.trace_clock() != trace_clock)
    last_packet_ns_ = 0;
  // The clocks of other machines are not those of the host.
  if (time_ns && !packet.is_of_other_machine())
    last_packet_ns_ = std::max(last_packet_ns_, *time_ns);
  return true;
}

void TraceReaderImpl::ReadAhead(ConstBytes packets) {
  has_read_ahead_ = true;
  ForEachPacket(packets, [this](ConstBytes bytes) { ReadDescriptions(bytes); });
}

void TraceReaderImpl::set_read_ahead(std::function<void()> read_ahead) {
  clocks_.set_read_ahead([this, read_ahead = std::move(read_ahead)] {
    // The event before which it reads may be in a compressed packet.
    const bool is_inflated = std::exchange(is_inflated_, false);
    const PacketWriter writer = tracks_.writer();
    read_ahead();
    tracks_.SetWriter(writer);
    is_inflated_ = is_inflated;
  });
}

void TraceReaderImpl::ReadDescriptions(ConstBytes bytes) {
  if (BeginsWithEvent(bytes))
    return;
  Packet packet;
  ReadPacketFields(bytes, &packet);
  tracks_.SetWriter(packet.writer());
  ConstBytes clock_snapshot;
  ProtoDecoder decoder(bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    switch (field.id()) {
      case TracePacket::kTrackEventFieldNumber:
        return;  // All of these fields are one oneof.
      case TracePacket::kThreadDescriptorFieldNumber:
        tracks_.AddThread(field.as_bytes());
        break;
      case TracePacket::kClockSnapshotFieldNumber:
        clock_snapshot = field.as_bytes();
        break;
      case TracePacket::kCompressedPacketsFieldNumber:
      case TracePacket::kZstdCompressedPacketsFieldNumber:
        ReadInflated(field.id(), field.as_bytes(),
                     [this](ConstBytes packets) { ReadAhead(packets); });
        break;
      default:
        ReadDescription(field);
        break;
    }
  }
  if (clock_snapshot.data != nullptr)
    clocks_.AddAhead(clock_snapshot, packet.sequence_id);
}

void TraceReaderImpl::ReadDescription(const Field& field) {
  switch (field.id()) {
    case TracePacket::kTrackDescriptorFieldNumber:
      return tracks_.Describe(field.as_bytes());
    case TracePacket::kProcessTreeFieldNumber:
      return tracks_.AddProcessTree(field.as_bytes());
    case TracePacket::kGenericKernelProcessTreeFieldNumber:
      return tracks_.SetHasKernelTree();
    case TracePacket::kProcessDescriptorFieldNumber:
      return tracks_.AddProcess(field.as_bytes());
    case TracePacket::kExtensionDescriptorFieldNumber:
      if (callbacks_.on_extension_descriptor)
        callbacks_.on_extension_descriptor(field.as_bytes());
      return;
    default:
      return;
  }
}

void TraceReaderImpl::OnStats(ConstBytes bytes) {
  using Stats = trace::TraceStats;
  const Stats::Decoder stats(bytes);
  has_stats_ = true;
  for (const auto entry : stats.buffer_stats()) {
    const Stats::BufferStats::Decoder buffer(entry);
    for (const auto losses : buffer.packets_lost()) {
      const Stats::PacketsLost::Decoder lost(losses);
      AddUpTo64Bits(lost.packets(),
                    &packets_lost_[static_cast<uint32_t>(lost.reason())]);
    }
    AddUpTo64Bits(buffer.unknown_losses(), &unknown_losses_);
    // Perfetto's service gives no reasons.
    if (!buffer.has_packets_lost() && buffer.trace_writer_packet_loss() != 0)
      AddUpTo64Bits(buffer.trace_writer_packet_loss(), &packets_lost_[0]);
  }
}

void TraceReaderImpl::OnGap(const Packet& packet, SequenceState* sequence) {
  // Perfetto's writers set this in their first packet, too.
  if (sequence->has_begun) {
    Gaps& gaps = gaps_[sequence->id];
    ++gaps.places;
    ++sequence->num_gaps;
    gaps.track = tracks_.uuid(sequence->OwnTrack(&tracks_));
    if (packet.pid != 0)
      gaps.pid = packet.pid;
    sequence->has_gap = sequence->is_in_gap = true;
    events_.AddLoss(sequence);
  }
  sequence->is_valid = false;
  sequence->lacks_steps = true;
}

void TraceReaderImpl::OnTime(uint64_t time_ns, SequenceState* sequence) {
  if (std::exchange(sequence->is_in_gap, false) && sequence->last_ns != 0) {
    lost_stretches_.push_back({tracks_.uuid(sequence->OwnTrack(&tracks_)),
                               sequence->last_ns,
                               std::max(sequence->last_ns, time_ns)});
  }
  sequence->last_ns = time_ns;
}

Slice TraceReaderImpl::SliceOf(const NestedSlice& slice) const {
  return {&texts_.text(slice.text),
          slice.text,
          slice.depth,
          slice.number,
          slice.parent,
          tracks_.uuid(slice.track),
          slice.root_ns,
          slice.begin_ns,
          slice.end_ns - slice.begin_ns,
          slice.self_ns,
          &details_.Get(slice.details),
          slice.path};
}

void TraceReaderImpl::OnSlice(const NestedSlice& slice) {
  if (callbacks_.on_slice)
    callbacks_.on_slice(SliceOf(slice));
}

void TraceReaderImpl::OnInstant(const NestedSlice& instant) {
  callbacks_.on_instant({&texts_.text(instant.text),
                         tracks_.uuid(instant.track), instant.begin_ns,
                         &details_.Get(instant.details), instant.depth,
                         instant.number, instant.parent});
}

void TraceReaderImpl::OnUnfinished(const NestedSlice& slice) {
  if (callbacks_.on_unfinished)
    callbacks_.on_unfinished(SliceOf(slice));
}

void TraceReaderImpl::ReleaseEvents() {
  order_.Release();
  task_steps_.Release();
}

void TraceReaderImpl::Finish() {
  order_.Finish();
  nesting_.Finish(end_ns());
  for (auto& [id, sequence] : sequences_)
    task_steps_.FinishSequence(end_ns(), &sequence);
  task_steps_.Finish();
}

uint64_t TraceReaderImpl::end_ns() const {
  const bool has_events = events_.first_ns() <= events_.last_ns();
  return has_events ? std::max(events_.last_ns(), last_packet_ns_) : 0;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
