// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>
#include <string.h>

#include <string_view>
#include <utility>

#include "protozero/tracing/track_event.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/trace_extensions.h"

#include "protozero/internal/macros.h"

// The packets of a sequence besides its short events: descriptions, and events
// that take more than one copy.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::ClockSnapshot;
using trace::InternedData;
using trace::TracePacket;
using trace::TrackDescriptor;
using trace::TrackEvent;

uint64_t ThreadUuid() {
  return ProcessUuid() ^ static_cast<uint64_t>(TraceThreadId());
}

namespace {

constexpr uint32_t kBootTimeClockId = 6;
// The first clock id that belongs to a sequence.
constexpr uint32_t kSequenceClockId = 64;

// Writes a packet that describes a track. |fill| gets its TrackDescriptor.
template <typename Fill>
void WriteDescriptor(TraceContext& context, Fill fill) {
  auto packet = context.NewTracePacket<TracePacket>();
  packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  packet->set_timestamp(0);
  fill(packet->set_track_descriptor());
}

}  // namespace

class TrackAccess {
 public:
  static bool IsDescribedInPreamble(const Track& track) {
    return track.kind_ == Track::Kind::kThread ||
           track.kind_ == Track::Kind::kProcess;
  }
  static const Track* ParentOf(const Track& track) { return track.parent_; }

  static uint64_t ParentUuidOf(const Track& track) {
    if (track.parent_ != nullptr)
      return track.parent_->uuid();
    switch (track.owner_) {
      case Track::kProcess:
        return ProcessUuid();
      case Track::kThread:
        return ThreadUuid();
      case Track::kNobody:
        break;
    }
    return 0;
  }

  static uint64_t UuidOf(const Track& track) {
    switch (track.kind_) {
      case Track::Kind::kThread:
        return ThreadUuid();
      case Track::Kind::kProcess:
        return ProcessUuid();
      case Track::Kind::kOther:
      case Track::Kind::kCounter:
        break;
    }
    // Unlike a mere XOR, this depends on which track is the parent.
    uint64_t uuid = (track.hash_ ^ ParentUuidOf(track)) * 0x9e3779b97f4a7c15;
    uuid ^= uuid >> 32;
    // Nine bytes as a varint, at most. 0 means that there is no track.
    uuid >>= 1;
    return uuid != 0 ? uuid : 1;
  }

  static void Write(const Track& track, TrackDescriptor* descriptor) {
    descriptor->set_uuid(UuidOf(track));
    const uint64_t parent = ParentUuidOf(track);
    if (parent != 0)
      descriptor->set_parent_uuid(parent);
    if (!track.name_.empty())
      descriptor->set_name(track.name_);
    if (!track.description_.empty())
      descriptor->set_description(track.description_);
    if (track.child_order_ != Track::ChildOrder::kUnspecified) {
      descriptor->set_child_ordering(
          static_cast<TrackDescriptor::ChildTracksOrdering>(
              track.child_order_));
    }
    if (track.rank_ != 0)
      descriptor->set_sibling_order_rank(track.rank_);
    if (track.kind_ != Track::Kind::kCounter)
      return;
    auto* const counter = descriptor->set_counter();
    if (track.unit_ != 0) {
      counter->set_unit(
          static_cast<trace::CounterDescriptor::Unit>(track.unit_));
    }
    if (track.unit_multiplier_ != 0)
      counter->set_unit_multiplier(track.unit_multiplier_);
    if (!track.unit_name_.empty())
      counter->set_unit_name(track.unit_name_);
  }
};

uint64_t TraceSequence::Prepare(TraceContext& context,
                                TraceClock* clock,
                                uint64_t now) {
  const TraceWriter& writer = context.writer();
  if (now == 0)
    now = clock->NowNs();
  const bool is_cleared = context.TakeIncrementalStateCleared();
  // The next packet may begin another chunk, which counts, too.
  const ChunkID chunk = writer.chunk_id() + (writer.continues_chunk() ? 0 : 1);
  if (!is_cleared && !HasLost(context) && chunk - first_chunk < max_chunks)
    return now;
  // Slices whose beginnings were lost must not end others.
  if (HasLost(context) && kind == nullptr)
    t_trace_thread->open_slices.Doubt(0);
  loss_generation = writer.loss_generation();
  WritePreamble(context, now);
  return HasLost(context) ? 0 : now;
}

void TraceSequence::DescribeExtensions(TraceContext& context) {
  if (described_extensions == nullptr)
    return;
  std::atomic<uint64_t>& described = *described_extensions;
  // The service, or the ring, may have forgotten earlier descriptions.
  const uint64_t clears =
      (context.num_clears() + context.writer().ring_quarter()) << 32;
  const TraceExtensions& extensions = GetTraceExtensions();
  for (size_t i = 0; i < extensions.size(); ++i) {
    const uint64_t bit = uint64_t{1} << i;
    uint64_t before = described.load(std::memory_order_relaxed);
    uint64_t known;
    do {
      known = before >> 32 == clears >> 32 ? before : clears;
    } while ((known & bit) == 0 &&
             !described.compare_exchange_weak(before, known | bit,
                                              std::memory_order_relaxed));
    if ((known & bit) != 0)
      continue;
    {
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_extension_descriptor()->set_extension_set(extensions[i]);
    }
    if (HasLost(context)) {
      described.fetch_and(~bit, std::memory_order_relaxed);
      return;
    }
  }
}

void TraceSequence::WritePreamble(TraceContext& context, uint64_t now) {
  sites.Clear();
  categories.Clear();
  names.Clear();
  keys.Clear();
  memset(tracks, 0, sizeof(tracks));
  sites.Add(kNoStringsSite);
  last_ns = now;
  max_chunks = context.MaxChunksOfSequence();
  const int32_t pid = ProcessId();
  const uint64_t thread_uuid = ThreadUuid();
  const uint64_t process_uuid = ProcessUuid();
  {
    auto packet = context.NewTracePacket<TracePacket>();
    first_chunk = context.writer().chunk_id();
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    const uint64_t default_uuid =
        kind != nullptr ? kind->Begin(packet->set_interned_data(), thread_uuid)
                        : thread_uuid;
    auto* const defaults = packet->set_trace_packet_defaults();
    defaults->set_timestamp_clock_id(kSequenceClockId);
    defaults->set_track_event_defaults()->set_track_uuid(default_uuid);
    auto* const clocks = packet->set_clock_snapshot();
    AppendFields(clocks,
                 ClockSnapshot::kClocks(
                     FieldList(ClockSnapshot::Clock::kClockId(kBootTimeClockId),
                               ClockSnapshot::Clock::kTimestamp(now))),
                 ClockSnapshot::kClocks(
                     FieldList(ClockSnapshot::Clock::kClockId(kSequenceClockId),
                               ClockSnapshot::Clock::kTimestamp(now),
                               ClockSnapshot::Clock::kIsIncremental(true))));
  }
  // If packets were lost, readers do not understand the rest.
  if (HasLost(context))
    return;
  WriteDescriptor(context, [&](TrackDescriptor* track) {
    track->set_uuid(process_uuid);
    auto* const process = track->set_process();
    process->set_pid(pid);
    process->set_process_name(TraceProcessName(t_trace_thread));
  });
  if (HasLost(context))
    return;
  WriteDescriptor(context, [&](TrackDescriptor* track) {
    track->set_uuid(thread_uuid);
    track->set_parent_uuid(process_uuid);
    auto* const thread = track->set_thread();
    thread->set_pid(pid);
    thread->set_tid(TraceThreadId());
    std::string_view name = t_trace_thread->name;
    if (name.empty())
      name = t_trace_thread->system_name;
    if (!name.empty())
      thread->set_thread_name(name);
  });
  if (!HasLost(context))
    DescribeExtensions(context);
  if (kind != nullptr && !HasLost(context))
    kind->WriteBeginning(context, *this, thread_uuid);
  // From here on, nothing refers to the packets before.
  if (!HasLost(context))
    context.writer().KeepChunksFrom(first_chunk);
}

void TraceSequence::Describe(TraceContext& context, const Track& track) {
  if (TrackAccess::IsDescribedInPreamble(track) || IsDescribed(track.uuid()) ||
      HasLost(context)) {
    return;
  }
  const uint64_t uuid = track.uuid();
  if (TrackAccess::ParentOf(track) != nullptr)
    Describe(context, *TrackAccess::ParentOf(track));
  if (HasLost(context))
    return;
  WriteDescriptor(context, [&](TrackDescriptor* descriptor) {
    TrackAccess::Write(track, descriptor);
  });
  tracks[uuid % kNumTracks] = uuid;
}

void TraceSequence::DescribeThread(TraceContext& context, int64_t tid) {
  const uint64_t uuid = ProcessUuid() ^ static_cast<uint64_t>(tid);
  uint64_t& described = tracks[uuid % kNumTracks];
  if (described == uuid)
    return;
  WriteDescriptor(context, [&](TrackDescriptor* track) {
    track->set_uuid(uuid);
    track->set_parent_uuid(ProcessUuid());
    auto* const thread = track->set_thread();
    thread->set_pid(ProcessId());
    thread->set_tid(tid);
  });
  described = uuid;
}

void ReadyWriter::Update(DataSourceWriters* writers) {
  const uint32_t state = writers->seen_state_.load(std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (state == DataSource::kTracing || state == DataSource::kFollowing)
    return;
  Stop();
  if (writers->contexts_.size() != 1)
    return;
  TraceContext& context = writers->contexts_.front();
  auto* const sequence = static_cast<TraceSequence*>(context.state());
  if (sequence == nullptr || sequence->filters_args ||
      (!sequence->IsReady(context) && !context.writer().is_exhausted())) {
    return;
  }
  session_ = sequence->session;
  writer_ = &context.writer();
  sequence_ = sequence;
  // A signal handler that comes here first finds the rest.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  state_ = state;
}

EventBuilder::EventBuilder(TraceContext& context,
                           TraceSequence& sequence,
                           const EventInProgress& event,
                           uint64_t now,
                           uint64_t timestamp)
    : site_(*event.site),
      sequence_(sequence),
      // The sequence knows a site only if all of its keys have ids.
      is_interned_(event.site->has_fields() &&
                   (event.num_keys == 0 || sequence.sites.Has(event.site->id) ||
                    InternKeys(event.site, event.keys, event.num_keys))),
      packet_(context.NewTracePacket<TracePacket>()) {
  const bool has_ids = site_.has_fields();
  if (timestamp != kNoTimestamp) {
    packet_->set_timestamp(timestamp);
    packet_->set_timestamp_clock_id(kBootTimeClockId);
  } else {
    packet_->set_timestamp(sequence.TakeDelta(now));
  }
  packet_->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  if (has_ids && !sequence.sites.Has(site_.id)) {
    // The fields of a counter have no ids.
    const bool is_counter = site_.type == TrackEvent::TYPE_COUNTER;
    const bool says_category =
        !is_counter && sequence.categories.Add(site_.category_iid);
    const bool says_name = !is_counter && site_.name_iid != 0 &&
                           sequence.names.Add(site_.name_iid);
    auto* const data = packet_->set_interned_data();
    if (says_category) {
      AppendFields(data,
                   InternedData::kEventCategories(FieldList(
                       trace::EventCategory::kIid(uint64_t{site_.category_iid}),
                       trace::EventCategory::kName(CategoryOf(site_)))));
    }
    if (says_name) {
      AppendFields(data, InternedData::kEventNames(FieldList(
                             trace::EventName::kIid(uint64_t{site_.name_iid}),
                             trace::EventName::kName(NameOf(site_)))));
    }
    for (size_t i = 0; is_interned_ && i < event.num_keys; ++i) {
      const uint16_t iid = g_key_fields[site_.id][i].iid();
      if (!sequence.keys.Add(iid))
        continue;
      AppendFields(data, InternedData::kDebugAnnotationNames(FieldList(
                             trace::DebugAnnotationName::kIid(uint64_t{iid}),
                             trace::DebugAnnotationName::kName(
                                 std::string_view(event.keys[i])))));
    }
    if (is_interned_)
      sequence.sites.Add(site_.id);
  }
  event_ = packet_->set_track_event();
  std::string_view categories = event.category;
  if (has_ids) {
    constexpr size_t kBegin = TraceSite::kPacketFieldsSize;
    event_->AppendRawProtoBytes(site_.fields + kBegin,
                                site_.fields_size - kBegin);
  } else {
    event_->AppendVarInt(TrackEvent::kTypeFieldNumber, site_.type);
    if (site_.texts.category != nullptr)
      categories = site_.texts.category;
  }
  while (!categories.empty()) {
    const size_t end = categories.find(',');
    event_->add_categories(categories.substr(0, end));
    categories.remove_prefix(end < categories.size() ? end + 1
                                                     : categories.size());
  }
  if (!event.name.empty()) {
    event_->set_name(sequence.filters_dynamic_names
                         ? std::string_view("FILTERED")
                         : event.name);
  } else if (!has_ids && site_.texts.name != nullptr) {
    event_->set_name(std::string_view(site_.texts.name));
  }
}

void EventBuilder::Add(const CorrelationId& id) {
  if (id.is_text) {
    event_->set_correlation_id_str(id.text);
  } else {
    event_->set_correlation_id(id.number);
  }
}

void EventBuilder::Add(const SourceLocation& location) {
  auto* const message = event_->set_source_location();
  message->set_file_name(std::string_view(location.file));
  message->set_function_name(std::string_view(location.function));
  message->set_line_number(location.line);
}

namespace {

auto ValueField(int64_t value) {
  return TrackEvent::kCounterValue(value);
}
auto ValueField(double value) {
  return TrackEvent::kDoubleCounterValue(value);
}

// Writes a value to all sessions that want it.
template <typename T>
PROTOZERO_NOINLINE void WriteCounterToAll(TraceSite* site,
                                          std::string_view category,
                                          const CounterTrack& track,
                                          T value) {
  ForEachSequence(
      site->Sessions(), category,
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        if (PROTOZERO_UNLIKELY(!sequence.IsDescribed(track.uuid()))) {
          if (!sequence.DescribeAll(
                  context, now, [&] { sequence.Describe(context, track); })) {
            return;
          }
        }
        if (site->has_fields())
          sequence.sites.Add(site->id);
        context.WriteTracePacket<TracePacket>(
            TracePacket::kTimestamp(sequence.TakeDelta(now)), kNeedsState,
            TracePacket::kTrackEvent(FieldList(
                TrackEvent::kType(TrackEvent::TYPE_COUNTER),
                TrackEvent::kTrackUuid(track.uuid()), ValueField(value))));
      });
}

template <typename T>
PROTOZERO_NOINLINE void WriteNamedCounterToAll(TraceSite* site, T value) {
  if (site->Sessions() != 0)
    WriteCounterToAll(site, {}, CounterTrack(NameOf(*site)), value);
}

template <typename T>
PROTOZERO_ALWAYS_INLINE void WriteNamedCounter(TraceSite* site, T value) {
  TraceThread* const thread = t_trace_thread;
  if (PROTOZERO_UNLIKELY(thread == nullptr ||
                         thread->ready_writer.TryWrite(
                             thread->writers, &thread->clock,
                             site->enabled.load(std::memory_order_acquire),
                             [site](const TraceSequence& sequence)
                                 PROTOZERO_INLINE_LAMBDA {
                                   return sequence.sites.Has(site->id);
                                 },
                             MakeLazy([&]() PROTOZERO_INLINE_LAMBDA {
                               return EventOf(*site, ValueField(value));
                             })) == 0)) {
    WriteNamedCounterToAll(site, value);
  }
}

template <typename T>
PROTOZERO_ALWAYS_INLINE void WriteCounter(TraceSite* site,
                                          std::string_view category,
                                          const CounterTrack& track,
                                          T value) {
  TraceThread* const thread = t_trace_thread;
  if (PROTOZERO_LIKELY(thread != nullptr && category.data() == nullptr)) {
    const uint64_t uuid = track.uuid();
    // Nothing here is read from the site, so the load acquires nothing.
    if (PROTOZERO_LIKELY(
            thread->ready_writer.TryWrite(
                thread->writers, &thread->clock,
                site->enabled.load(std::memory_order_relaxed),
                [uuid](const TraceSequence& sequence) PROTOZERO_INLINE_LAMBDA {
                  return sequence.IsDescribed(uuid);
                },
                kNeedsState,
                TracePacket::kTrackEvent(FieldList(
                    TrackEvent::kType(TrackEvent::TYPE_COUNTER),
                    TrackEvent::kTrackUuid(uuid), ValueField(value)))) != 0)) {
      return;
    }
  }
  WriteCounterToAll(site, category, track, value);
}

}  // namespace

void EmitNamedCounter(TraceSite* site, int64_t value) noexcept {
  WriteNamedCounter(site, value);
}
void EmitNamedCounter(TraceSite* site, double value) noexcept {
  WriteNamedCounter(site, value);
}
void EmitCounter(TraceSite* site,
                 std::string_view category,
                 const CounterTrack& track,
                 int64_t value) {
  WriteCounter(site, category, track, value);
}
void EmitCounter(TraceSite* site,
                 std::string_view category,
                 const CounterTrack& track,
                 double value) {
  WriteCounter(site, category, track, value);
}

}  // namespace internal

uint64_t Track::uuid() const {
  return internal::TrackAccess::UuidOf(*this);
}

PROTOZERO_ABI_END
}  // namespace protozero
