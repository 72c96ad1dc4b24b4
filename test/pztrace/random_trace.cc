// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/pztrace/random_trace.h"

#include <algorithm>
#include <utility>

using protozero::HeapBuffered;
using protozero::trace::InternedData;
using protozero::trace::Trace;
using protozero::trace::TracePacketDefaults;

namespace {

constexpr uint32_t kBootTime = 6;
constexpr uint32_t kIncrementalClock = 64;
constexpr uint32_t kOtherClock = 65;
// The difference of the clock 65 of sequences to the boot clock.
constexpr uint64_t kOtherOffset = 777;
constexpr uint64_t kStartNs = 1000000000;

constexpr uint64_t kProcess = 10;
constexpr uint64_t kSharedTrack = 500;
constexpr uint64_t kStateTrack = 600;
constexpr uint64_t kCounter = 700;
constexpr uint64_t kIncrementalCounter = 800;

}  // namespace

template <typename Fill>
void RandomTrace::Add(const Thread& thread, Fill fill) {
  HeapBuffered<Trace> trace;
  TracePacket* const packet = trace->add_packet();
  packet->set_trusted_uid(1000);
  packet->set_trusted_packet_sequence_id(thread.sequence);
  if (std::exchange(is_behind_loss_, false))
    packet->set_previous_packet_dropped(1);
  fill(packet);
  if (Below(4) == 0)
    AddUnknownFields(packet);
  trace_ += trace.SerializeAsString();
}

void RandomTrace::AddUnknownFields(protozero::Message* message) {
  message->AppendVarInt(9876, Below(1000));
  message->AppendString(9877, "unknown");
}

template <typename Fill>
void RandomTrace::AddEvent(Thread* thread, TrackEvent::Type type, Fill fill) {
  thread->now_ns += Below(5) == 0 ? 0 : 1000 * Below(50);
  Add(*thread, [&](TracePacket* packet) {
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    const uint64_t delta_ns =
        thread->now_ns - std::exchange(thread->clock_ns, thread->now_ns);
    switch (thread->clock) {
      case Clock::kIncremental:
        packet->set_timestamp(delta_ns);
        break;
      case Clock::kIncrementalMicroseconds:
        packet->set_timestamp(delta_ns / 1000);
        break;
      case Clock::kBootTime:
        packet->set_timestamp(thread->now_ns);
        break;
      case Clock::kOfSequence:
        packet->set_timestamp(thread->now_ns + kOtherOffset);
        break;
      case Clock::kOlder:
        break;
    }
    // Interned data are before the event, as programs write them.
    HeapBuffered<TrackEvent> event;
    event->set_type(type);
    if (thread->clock == Clock::kOlder && Below(3) == 0)
      event->set_thread_time_delta_us(Below(100));
    if (thread->clock == Clock::kOlder && Below(5) == 0)
      event->set_thread_instruction_count_delta(Below(1000));
    if (thread->clock == Clock::kOlder)
      event->set_timestamp_delta_us(static_cast<int64_t>(delta_ns / 1000));
    fill(packet, event.get());
    if (Below(8) == 0)
      AddUnknownFields(event.get());
    const std::string bytes = event.SerializeAsString();
    packet->AppendString(TracePacket::kTrackEventFieldNumber, bytes);
  });
}

void RandomTrace::AddNames(Thread* thread,
                           TracePacket* packet,
                           TrackEvent* event) {
  // The same number stands for something else after each clear.
  const uint32_t iid = thread->first_iid + Below(5);
  event->add_category_iids(iid);
  if (Below(4) == 0) {
    event->set_name("name " + std::to_string(Below(3)));
  } else {
    event->set_name_iid(iid);
  }
  if (Below(2) == 0) {
    auto* const annotation = event->add_debug_annotations();
    annotation->set_name_iid(iid);
    annotation->set_int_value(Below(100));
  }
  if (!thread->interned.insert(iid).second)
    return;
  const std::string text = std::to_string(thread->clock_ns);
  InternedData* const data = packet->set_interned_data();
  auto* const category = data->add_event_categories();
  category->set_iid(iid);
  category->set_name("category " + std::to_string(Below(4)));
  auto* const name = data->add_event_names();
  name->set_iid(iid);
  name->set_name("interned " + text);
  auto* const key = data->add_debug_annotation_names();
  key->set_iid(iid);
  key->set_name("key " + text);
}

void RandomTrace::BeginAnew(Thread* thread) {
  thread->interned.clear();
  thread->first_iid = 1 + Below(3);
  thread->is_valid = true;
  thread->clock_ns = thread->now_ns;
  Add(*thread, [&](TracePacket* packet) {
    if (Below(2) == 0)
      packet->set_incremental_state_cleared(true);
    else
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    TracePacketDefaults* const defaults = packet->set_trace_packet_defaults();
    auto* const of_events = defaults->set_track_event_defaults();
    // Some sequences of older traces have events on their thread instead.
    if (thread->clock != Clock::kOlder || thread->number % 2 == 0)
      of_events->set_track_uuid(thread->own_track());
    of_events->add_extra_counter_track_uuids(kIncrementalCounter +
                                             thread->number);
    if (thread->clock == Clock::kBootTime || thread->clock == Clock::kOlder)
      return;
    const bool is_other = thread->clock == Clock::kOfSequence;
    const bool is_micro = thread->clock == Clock::kIncrementalMicroseconds;
    defaults->set_timestamp_clock_id(is_other ? kOtherClock
                                              : kIncrementalClock);
    auto* const snapshot = packet->set_clock_snapshot();
    auto* const boot = snapshot->add_clocks();
    boot->set_clock_id(kBootTime);
    boot->set_timestamp(thread->now_ns);
    auto* const own = snapshot->add_clocks();
    own->set_clock_id(is_other ? kOtherClock : kIncrementalClock);
    own->set_timestamp(is_other   ? thread->now_ns + kOtherOffset
                       : is_micro ? thread->now_ns / 1000
                                  : thread->now_ns);
    own->set_is_incremental(!is_other);
    if (is_micro)
      own->set_unit_multiplier_ns(1000);
  });
  if (thread->clock == Clock::kOlder) {
    Add(*thread, [&](TracePacket* packet) {
      auto* const descriptor = packet->set_thread_descriptor();
      descriptor->set_pid(1);
      descriptor->set_tid(thread->number);
      descriptor->set_reference_timestamp_us(
          static_cast<int64_t>(thread->now_ns / 1000));
    });
  }
  Describe(thread);
}

void RandomTrace::Describe(Thread* thread) {
  const auto describe = [&](uint64_t uuid, uint64_t parent, auto fill) {
    Add(*thread, [&](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      if (thread->clock != Clock::kBootTime &&
          thread->clock != Clock::kOfSequence) {
        packet->set_timestamp(0);
      }
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(uuid);
      if (parent != 0)
        track->set_parent_uuid(parent);
      fill(track);
    });
  };
  describe(kProcess, 0, [](auto* track) { track->set_process()->set_pid(1); });
  describe(thread->own_track(), kProcess, [&](auto* track) {
    auto* const descriptor = track->set_thread();
    descriptor->set_pid(1);
    descriptor->set_tid(thread->number);
    if (Below(3) == 0)
      descriptor->set_thread_name("thread " + std::to_string(Below(3)));
  });
  describe(kSharedTrack, kProcess, [](auto* track) { track->set_name("all"); });
  describe(kStateTrack + thread->number, thread->own_track(),
           [](auto* track) { track->set_name("state"); });
  describe(kCounter, kProcess, [](auto* track) { track->set_counter(); });
  describe(kIncrementalCounter + thread->number, kProcess,
           [](auto* track) { track->set_counter()->set_is_incremental(true); });
}

void RandomTrace::AddPacket(Thread* thread) {
  switch (Below(12)) {
    case 0:
    case 1:
    case 2:
      ++thread->depth;
      return AddEvent(thread, TrackEvent::TYPE_SLICE_BEGIN,
                      [&](TracePacket* packet, TrackEvent* event) {
                        AddNames(thread, packet, event);
                        if (Below(6) == 0)
                          event->add_extra_counter_values(Below(10));
                      });
    case 3:
    case 4:
      if (thread->depth == 0)
        break;
      --thread->depth;
      return AddEvent(thread, TrackEvent::TYPE_SLICE_END,
                      [](TracePacket*, TrackEvent*) {});
    case 5:
    case 6:
      return AddEvent(thread, TrackEvent::TYPE_INSTANT,
                      [&](TracePacket* packet, TrackEvent* event) {
                        AddNames(thread, packet, event);
                      });
    case 7:
    case 8:
      return AddSharedEvent(thread);
    case 9:
      return AddCounters(thread);
    case 10:
      return AddState(thread);
    default:
      break;
  }
  // Such a slice would be in a piece that ends before a loss that ends it.
  if (!options_.has_losses && Below(6) == 0)
    AddComplete(thread);
  else if (Below(5) == 0)
    BeginAnew(thread);
  else if (options_.has_losses && Below(5) == 0)
    Lose(thread);
}

void RandomTrace::AddSharedEvent(Thread* thread) {
  if (thread->shared_begins.empty() || Below(2) == 0) {
    AddEvent(thread, TrackEvent::TYPE_SLICE_BEGIN,
             [&](TracePacket* packet, TrackEvent* event) {
               AddNames(thread, packet, event);
               event->set_track_uuid(kSharedTrack);
             });
    // No two slices of that track begin at one time.
    thread->now_ns += 1000;
    thread->shared_begins.push_back(thread->clock_ns);
    return;
  }
  const size_t index =
      Below(static_cast<uint32_t>(thread->shared_begins.size()));
  const auto begin =
      thread->shared_begins.begin() + static_cast<std::ptrdiff_t>(index);
  AddEvent(thread, TrackEvent::TYPE_SLICE_END,
           [&](TracePacket* packet, TrackEvent* event) {
             event->set_track_uuid(kSharedTrack);
             packet->set_ended_slice_duration(
                 static_cast<uint32_t>(thread->now_ns - *begin));
           });
  thread->shared_begins.erase(begin);
}

void RandomTrace::AddState(Thread* thread) {
  AddEvent(thread, TrackEvent::TYPE_STATE,
           [&](TracePacket* packet, TrackEvent* event) {
             event->set_track_uuid(kStateTrack + thread->number);
             if (Below(4) != 0)
               AddNames(thread, packet, event);
           });
}

void RandomTrace::AddCounters(Thread* thread) {
  AddEvent(thread, TrackEvent::TYPE_COUNTER,
           [&](TracePacket*, TrackEvent* event) {
             if (Below(2) == 0) {
               event->set_track_uuid(kCounter);
               event->set_double_counter_value(Below(1000) / 8.0);
             } else {
               event->set_track_uuid(kIncrementalCounter + thread->number);
               event->set_counter_value(Below(1000));
             }
           });
}

void RandomTrace::AddComplete(Thread* thread) {
  // Its end would end another slice that begins at the same time.
  thread->now_ns += 1000;
  AddEvent(thread, TrackEvent::TYPE_UNSPECIFIED,
           [&](TracePacket* packet, TrackEvent* event) {
             AddNames(thread, packet, event);
             auto* const legacy = event->set_legacy_event();
             legacy->set_phase('X');
             legacy->set_duration_us(Below(100));
           });
  thread->now_ns += 1000;
}

void RandomTrace::Lose(Thread* thread) {
  is_behind_loss_ = true;
  thread->depth = 0;
  thread->now_ns += 100000;
  if (Below(2) == 0)
    return BeginAnew(thread);
  // Readers cannot use these packets.
  for (uint32_t i = 0; i <= Below(4); ++i) {
    AddEvent(thread, TrackEvent::TYPE_INSTANT,
             [](TracePacket*, TrackEvent* event) { event->set_name_iid(1); });
  }
  BeginAnew(thread);
}

void RandomTrace::AddSnapshot() {
  Thread service;
  service.sequence = 1;
  Add(service, [&](TracePacket* packet) {
    uint64_t now_ns = 0;
    for (const Thread& thread : threads_)
      now_ns = std::max(now_ns, thread.now_ns);
    auto* const snapshot = packet->set_clock_snapshot();
    for (const uint32_t id : {1u, 3u, kBootTime}) {
      auto* const clock = snapshot->add_clocks();
      clock->set_clock_id(id);
      // The monotonic clock of older times is the boot clock.
      clock->set_timestamp(now_ns + (id == 1 ? 5 * kStartNs : 0));
    }
  });
}

void RandomTrace::AddMarks() {
  Thread service;
  service.sequence = 1;
  Add(service,
      [&](TracePacket* packet) { packet->set_synchronization_marker("mark"); });
  Add(service, [&](TracePacket* packet) {
    packet->AppendString(8765, "something without a time");
  });
}

RandomTrace::RandomTrace(uint32_t seed, const Options& options)
    : options_(options), random_(seed) {
  const uint32_t num_threads = 1 + Below(4);
  for (uint32_t i = 0; i < num_threads; ++i) {
    Thread& thread = threads_.emplace_back();
    thread.sequence = 2 + i;
    thread.number = 1 + i;
    thread.clock =
        static_cast<Clock>(Below(static_cast<uint32_t>(Clock::kLast) + 1));
    thread.now_ns = thread.clock_ns = kStartNs;
  }
  AddSnapshot();
  AddMarks();
  for (Thread& thread : threads_) {
    if (options.begins_in_the_middle) {
      for (uint32_t i = 0; i < 5; ++i)
        AddSharedEvent(&thread);
      thread.shared_begins.clear();
    }
    BeginAnew(&thread);
  }
  bool is_rotated = !options.is_rotated;
  for (size_t i = 0; i < options.num_packets;) {
    Thread& thread = threads_[Below(num_threads)];
    // Threads that wrote nothing for a while go on at the time of the others.
    for (const Thread& other : threads_)
      thread.now_ns = std::max(thread.now_ns, other.now_ns - 100000);
    for (uint32_t n = Below(20); n != 0; --n, ++i)
      AddPacket(&thread);
    if (Below(10) == 0)
      AddSnapshot();
    if (i >= options.num_packets / 2 && !std::exchange(is_rotated, true)) {
      for (Thread& next : threads_) {
        next.sequence += 100;
        BeginAnew(&next);
      }
    }
  }
  AddMarks();
}
