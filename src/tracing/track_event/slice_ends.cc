// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/track_event/registry.h"

#include "protozero/internal/macros.h"

// Ends of scopes, which say which slice they are for where it is not the last
// one of the thread.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::TracePacket;
using trace::TrackEvent;

SessionMask OpenSlices::Remove(SliceToken token) {
  for (uint32_t i = 1; i <= kMaxSlices; ++i) {
    Slice& slice = slices_[(num_ - i) % kMaxSlices];
    const bool is_in_doubt = (slice.sessions & kInDoubt) != 0;
    if (slice.token != (is_in_doubt ? ~token : token))
      continue;
    const SessionMask sessions = slice.sessions & ~kInDoubt;
    slice = {};
    // Forgets removed slices at the end.
    for (i = 0; i < kMaxSlices && last().token == 0; ++i)
      --num_;
    return sessions;
  }
  return 0;
}

void OpenSlices::Doubt(SessionMask ended) {
  for (Slice& slice : slices_) {
    if ((slice.sessions & kInDoubt) == 0 && slice.token != 0) {
      slice.token = ~slice.token;
      slice.sessions |= kInDoubt;
    }
    slice.sessions &= ~ended;
  }
}

namespace {

constexpr auto kEnd = MakeConstantMessage<TrackEvent>(
    [] { return FieldList(TrackEvent::kType(TrackEvent::TYPE_SLICE_END)); });

// Returns the thread that has begun a slice, as tokens have it.
constexpr SliceToken ThreadOf(SliceToken token) {
  return token >> kSliceThreadShift;
}
// Writes the end of one slice, which need not be the innermost of its track. A
// |track_uuid| of 0 is the sequence's own track.
void WriteEndOf(TraceContext& context,
                TraceSequence& sequence,
                uint64_t now,
                SliceToken token,
                uint64_t track_uuid) {
  auto packet = context.NewTracePacket<TracePacket>();
  packet->set_timestamp(sequence.TakeDelta(now));
  packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  packet->set_ended_slice_duration(
      static_cast<uint32_t>(SliceTimeOf(now - token)));
  TrackEvent* const event = packet->set_track_event();
  event->set_type(TrackEvent::TYPE_SLICE_END);
  if (track_uuid != 0)
    event->set_track_uuid(track_uuid);
  // Readers that do not know the packet's field use the name.
  const std::string_view name = NameOfSite(
      static_cast<uint16_t>(token >> kSliceTimeBits & (kMaxInterned - 1)));
  if (!name.empty())
    event->set_name(name);
}

// Writes the end of a slice of another thread, or of one that is not the last.
PROTOZERO_COLD void EmitEndElsewhere(SliceToken token) noexcept {
  const SliceToken tid = ThreadOf(token);
  // If fork() has copied a scope, the slice ends in the parent.
  if (tid == ForkedThreadId())
    return;
  const bool is_own = tid == static_cast<SliceToken>(TraceThreadId());
  SessionMask sessions = 0;
  if (is_own && t_trace_thread != nullptr)
    sessions = t_trace_thread->open_slices.Remove(token);
  // Sessions that do not have the beginning ignore the end of one slice.
  if (sessions == 0)
    sessions = kNewSite - 1;
  const uint64_t track_uuid = is_own ? 0 : ProcessUuid() ^ tid;
  ForEachSequence(
      sessions, std::string_view(),
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        if (!is_own && !sequence.DescribeAll(context, now, [&] {
              sequence.DescribeThread(context, static_cast<int64_t>(tid));
            })) {
          return;
        }
        WriteEndOf(context, sequence, now, token, track_uuid);
      });
}

// Writes the end of the thread's last slice to all sessions that have it.
PROTOZERO_NOINLINE void EmitLastEnd(const OpenSlices::Slice* slice,
                                    SliceToken token) noexcept {
  ForEachSequence(slice->sessions, std::string_view(),
                  [slice, token](TraceContext& context, TraceSequence& sequence,
                                 uint64_t now) PROTOZERO_INLINE_LAMBDA {
                    // Prepare() may have found a loss, or a session that has
                    // just begun.
                    if (PROTOZERO_UNLIKELY(slice->token != token)) {
                      if ((slice->sessions & sequence.session) != 0)
                        WriteEndOf(context, sequence, now, token, 0);
                      return;
                    }
                    context.WriteTracePacket<TracePacket>(
                        TracePacket::kTimestamp(sequence.TakeDelta(now)),
                        kNeedsState, TracePacket::kTrackEvent(kEnd));
                  });
}

}  // namespace

SliceOnTrack CountSliceOnTrack(TraceThread* thread,
                               const TraceSite& site,
                               const WrittenEvent& event,
                               const Track& track) {
  SliceOnTrack slice;
  slice.track_uuid = track.uuid();
  slice.sessions = event.sessions;
  if (slice.track_uuid != (ProcessUuid() ^ static_cast<uint64_t>(thread->id))) {
    slice.token = TokenOf(*thread, site, event);
    return slice;
  }
  slice.track_uuid = 0;
  slice.token = CountSlice(thread, site, event);
  return slice;
}

void EmitEnd(SliceToken token) noexcept {
  TraceThread* const thread = t_trace_thread;
  if (PROTOZERO_UNLIKELY(thread == nullptr ||
                         thread->open_slices.last().token != token)) {
    return EmitEndElsewhere(token);
  }
  const OpenSlices::Slice* const slice = &thread->open_slices.last();
  thread->open_slices.RemoveLast();
  const uint64_t ns = thread->ready_writer.TryWrite(
      thread->writers, &thread->clock, slice->sessions,
      [](const TraceSequence&) { return true; }, kNeedsState,
      TracePacket::kTrackEvent(kEnd));
  if (PROTOZERO_UNLIKELY(ns == 0))
    EmitLastEnd(slice, token);
}

void EmitEndOnTrack(SliceToken token,
                    uint64_t track_uuid,
                    SessionMask sessions) noexcept {
  ForEachSequence(
      sessions, std::string_view(),
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        WriteEndOf(context, sequence, now, token, track_uuid);
      });
}

void EmitEndOnAsyncTrack(SliceToken token,
                         uint64_t number,
                         SessionMask sessions) noexcept {
  const Track track(AsyncTrackId(number));
  ForEachSequence(
      sessions, std::string_view(),
      [&](TraceContext& context, TraceSequence& sequence, uint64_t now) {
        if (sequence.DescribeAll(context, now,
                                 [&] { sequence.Describe(context, track); })) {
          WriteEndOf(context, sequence, now, token, track.uuid());
        }
      });
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
