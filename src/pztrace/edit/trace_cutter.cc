// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/edit/trace_cutter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::internal::TimedEvent;
using protozero::trace::ThreadDescriptor;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackDescriptor;
using Content = ScannedPacket::Content;

namespace {

size_t HashOf(ConstBytes bytes) {
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(bytes.data), bytes.size});
}

uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

TraceCutter::TraceCutter(Options options)
    : options_(std::move(options)),
      scanner_(std::make_unique<PacketScanner>(&tables_)) {}

bool TraceCutter::Read(ConstBytes packets, std::string* piece) {
  ProtoDecoder decoder(packets);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const std::string_view bytes(
        reinterpret_cast<const char*>(packets.data) + begin,
        decoder.read_offset() - begin);
    begin = decoder.read_offset();
    if (field.id() == Trace::kPacketFieldNumber)
      ReadPacket(field.as_bytes(), bytes, piece);
    else if (reading_ == kNumReadings - 1)
      piece->append(bytes);
  }
  return decoder.bytes_left() == 0;
}

void TraceCutter::ReadPacket(ConstBytes bytes,
                             std::string_view field,
                             std::string* piece) {
  ScannedPacket packet = scanner_->Parse(bytes);
  if (packet.content == Content::kCompressed && reading_ == 0)
    ++num_compressed_;
  switch (reading_) {
    case 0:
      scanner_->Describe(packet);
      scanner_->Read(&packet);
      break;
    case 1:
      scanner_->Read(&packet);
      FindUses(packet);
      break;
    default:
      Cut(packet, field, piece);
      break;
  }
}

void TraceCutter::EndReading(std::string* piece) {
  switch (reading_++) {
    case 0:
      BeginSecondReading();
      break;
    case 1:
      slices_->Finish(scanner_->last_ns());
      for (const TrackIndex track : slices_->tracks())
        Use(track);
      has_events_ |= !slices_->tracks().empty();
      UseParents();
      break;
    default:
      if (piece != nullptr)
        SayEnd(piece);
      break;
  }
  num_packets_ = 0;
  if (reading_ == kNumReadings)
    return;
  auto next = std::make_unique<PacketScanner>(&tables_);
  next->clocks().RelateAsIn(scanner_->clocks());
  scanner_ = std::move(next);
}

std::vector<protozero::TrackInfo> TraceCutter::Processes() const {
  std::vector<protozero::TrackInfo> processes;
  for (const uint64_t uuid : tables_.tracks.All()) {
    const auto info = tables_.tracks.Find(uuid);
    if (info && info->is_process)
      processes.push_back(*info);
  }
  return processes;
}

void TraceCutter::BeginSecondReading() {
  if (options_.from_ns != 0)
    from_ns_ = SaturatedSum(scanner_->first_ns(), options_.from_ns);
  to_ns_ = SaturatedSum(scanner_->first_ns(), options_.to_ns);
  slices_ = std::make_unique<WantedSlices>(
      from_ns_, &tables_.texts, [this](TrackIndex track, uint32_t text) {
        return WantsSlice(track, text);
      });
}

bool TraceCutter::WantsText(const protozero::EventText& text) {
  if (!options_.wants_category || text.category.empty())
    return true;
  const auto [wanted, is_new] = wanted_texts_.try_emplace(&text);
  if (is_new)
    wanted->second = options_.wants_category(text.category);
  return wanted->second;
}

bool TraceCutter::WantsTrack(TrackIndex track) {
  if (!options_.wants_process)
    return true;
  if (track >= wanted_tracks_.size())
    wanted_tracks_.resize(size_t{track} + 1);
  std::optional<bool>& wanted = wanted_tracks_[track];
  if (!wanted) {
    wanted = false;
    for (const uint64_t uuid :
         tables_.tracks.PathTo(tables_.tracks.uuid(track))) {
      const auto info = tables_.tracks.Find(uuid);
      if (info && info->is_process)
        wanted = options_.wants_process(*info);
    }
  }
  return *wanted;
}

bool TraceCutter::WantsSlice(TrackIndex track, uint32_t text) {
  return WantsText(tables_.texts.text(text)) && WantsTrack(track);
}

bool TraceCutter::BeginsWanted(const TimedEvent& event) {
  return (event.kind == TimedEvent::kBegin ||
          (event.kind == TimedEvent::kState &&
           event.text != TimedEvent::kNoText)) &&
         WantsSlice(event.track, event.text);
}

bool TraceCutter::WantsMoment(const PacketScanner::Moment& moment) {
  return (moment.text == nullptr || WantsText(*moment.text)) &&
         WantsTrack(tables_.tracks.IndexOfNumber(moment.track));
}

void TraceCutter::Use(TrackIndex track) {
  if (track >= is_used_.size())
    is_used_.resize(size_t{track} + 1);
  is_used_[track] = true;
}

void TraceCutter::UseParents() {
  for (TrackIndex track = 0; track < is_used_.size(); ++track) {
    if (!is_used_[track])
      continue;
    for (const uint64_t uuid :
         tables_.tracks.PathTo(tables_.tracks.uuid(track))) {
      Use(tables_.tracks.IndexOfNumber(uuid));
    }
  }
}

void TraceCutter::FindUses(const ScannedPacket& packet) {
  if (packet.content == Content::kEvent)
    ++num_packets_;
  for (const TimedEvent& event : scanner_->events())
    slices_->Add(event, num_packets_);
  if (packet.content != Content::kEvent || packet.is_skipped ||
      *packet.time_ns >= to_ns_) {
    return;
  }
  const bool is_in_time = IsInTime(*packet.time_ns);
  bool is_used = false;
  for (const TimedEvent& event : scanner_->events()) {
    if (!BeginsWanted(event))
      continue;
    is_used = true;
    // Slices that are open when the time begins are known at the end.
    if (is_in_time)
      Use(event.track);
  }
  // The beginning of an open slice may also have values of counters.
  if (!is_in_time && !is_used)
    return;
  for (const PacketScanner::Moment& moment : scanner_->moments()) {
    if (!WantsMoment(moment))
      continue;
    is_used = true;
    Use(tables_.tracks.IndexOfNumber(moment.track));
  }
  if (!is_in_time)
    return;
  // The end of a slice also needs the track, if its beginning is missing.
  const TrackIndex own = packet.sequence->OwnTrack(&tables_.tracks);
  if (!is_used && (options_.wants_category || !WantsTrack(own)))
    return;
  Use(own);
  has_events_ = true;
}

void TraceCutter::Cut(ScannedPacket packet,
                      std::string_view field,
                      std::string* piece) {
  const auto [found, is_first] = sequences_.try_emplace(packet.sequence_id);
  Sequence& sequence = found->second;
  if (is_first)
    sequence.is_inside = from_ns_ == 0 && !options_.wants_process;
  const bool was_inside = sequence.is_inside;
  sequence.repeater.Begin(packet);
  scanner_->Read(&packet);
  end_ns_ = std::max(
      {end_ns_, packet.time_ns.value_or(0), packet.snapshot_ns.value_or(0)});
  if (packet.time_ns) {
    sequence.is_inside = IsInTime(*packet.time_ns) &&
                         WantsTrack(packet.sequence->OwnTrack(&tables_.tracks));
  }
  if (packet.content == Content::kEvent)
    ++num_packets_;
  const bool is_kept = IsKept(packet, sequence.is_inside);
  const bool is_new = IsNewDescription(packet, is_kept);
  const SequenceRepeater::Piece whole = {
      tables_, is_used_, scanner_->clocks().trace_clock(), piece};
  // Slices that were open may have ended there.
  if (packet.is_behind_loss && !is_kept && (was_inside || sequence.is_inside))
    sequence.repeater.SayLoss(packet, whole);
  // The time of statistics, which are written last, would move the end.
  const bool needs_no_time = packet.content == Content::kSession &&
                             packet.time_ns.value_or(0) >= to_ns_;
  if (is_kept && !needs_no_time) {
    sequence.repeater.Say(packet, whole);
    piece->append(field);
  } else if (is_new || needs_no_time) {
    protozero::HeapBuffered<Trace> trace;
    TracePacket* const said = trace->add_packet();
    AppendWriter(packet, said);
    said->AppendBytes(packet.content_id, packet.content_bytes.data,
                      packet.content_bytes.size);
    *piece += trace.SerializeAsString();
  }
  sequence.repeater.End(packet, &scanner_->clocks(), is_kept);
}

bool TraceCutter::IsKept(const ScannedPacket& packet, bool is_inside) {
  // Readers see losses by such packets.
  if (packet.is_skipped && packet.content != Content::kSession)
    return is_inside;
  switch (packet.content) {
    case Content::kEvent:
      return IsEventKept(packet);
    case Content::kOther:
      return !packet.time_ns || IsInTime(*packet.time_ns);
    case Content::kClocks:
      if (packet.has_sequence_clocks)
        return is_inside;
      // A later one would move the end. The first one converts times.
      if (packet.snapshot_ns.value_or(0) >= to_ns_ && has_clocks_)
        return false;
      has_clocks_ = true;
      return true;
    case Content::kNone:
    case Content::kTrack:
    case Content::kThread:
    case Content::kDescription:
      return is_inside;
    case Content::kSession:
    case Content::kCompressed:
      break;
  }
  return true;
}

void TraceCutter::SayEnd(std::string* piece) {
  const auto& clocks = scanner_->clocks();
  if (end_ns_ < to_ns_ || !clocks.has_trace_clock())
    return;
  protozero::HeapBuffered<Trace> trace;
  auto* const snapshot = trace->add_packet()->set_clock_snapshot();
  snapshot->set_primary_trace_clock(clocks.trace_clock());
  auto* const clock = snapshot->add_clocks();
  clock->set_clock_id(clocks.trace_clock());
  clock->set_timestamp(to_ns_);
  *piece += trace.SerializeAsString();
}

bool TraceCutter::IsEventKept(const ScannedPacket& packet) {
  const auto& events = scanner_->events();
  const auto begins_wanted = [this](const TimedEvent& event) {
    return BeginsWanted(event);
  };
  if (!IsInTime(*packet.time_ns))
    return slices_->BeginsOpen(num_packets_);
  if (events.empty()) {
    const auto& moments = scanner_->moments();
    return moments.empty() ||
           std::any_of(moments.begin(), moments.end(),
                       [this](const PacketScanner::Moment& moment) {
                         return WantsMoment(moment);
                       });
  }
  if (options_.wants_category) {
    return std::any_of(events.begin(), events.end(), begins_wanted) ||
           slices_->Ends(num_packets_);
  }
  return std::any_of(
      events.begin(), events.end(),
      [this](const TimedEvent& event) { return WantsTrack(event.track); });
}

bool TraceCutter::IsNewDescription(const ScannedPacket& packet, bool is_kept) {
  if (packet.content == Content::kDescription) {
    return said_descriptions_
        .insert(HashOf(packet.content_bytes) + packet.content_id)
        .second;
  }
  if (packet.content != Content::kTrack)
    return false;
  const TrackDescriptor::Decoder descriptor(packet.content_bytes);
  const TrackIndex track = tables_.tracks.IndexOf(descriptor.uuid());
  bool is_used = is_kept || IsUsed(track);
  if (descriptor.has_thread()) {
    // Older traces have events of the thread without this track.
    const ThreadDescriptor::Decoder thread(descriptor.thread());
    is_used |= IsUsed(tables_.tracks.IndexOfThread(thread.pid(), thread.tid()));
  }
  if (!is_used)
    return false;
  const size_t hash = HashOf(packet.content_bytes);
  const auto [said, is_first] = said_tracks_.try_emplace(track, hash);
  return std::exchange(said->second, hash) != hash || is_first;
}

}  // namespace pztrace
