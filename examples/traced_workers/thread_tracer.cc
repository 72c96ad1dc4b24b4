// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/traced_workers/thread_tracer.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "protozero/tracing/trace.h"

namespace traced_workers {

namespace {

using protozero::TraceContext;
using protozero::trace::InternedData;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

constexpr char kProcessName[] = "traced_workers";
constexpr char kCategory[] = "worker";
constexpr uint64_t kCategoryIid = 1;

// Viewers use this clock unless a packet says otherwise.
uint64_t BootTime() {
  timespec time = {};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// One for each process and thread, and different from those of other machines:
// any unique number will do.
uint64_t ProcessTrack(int32_t process_id) {
  return uint64_t{1} << 62 | static_cast<uint32_t>(process_id);
}
uint64_t ThreadTrack(int64_t thread_id) {
  return uint64_t{1} << 61 | static_cast<uint32_t>(thread_id);
}

// Returns the string's id. If it is new, writes it to the message that |add|
// begins.
template <typename AddString>
uint64_t Intern(std::map<const char*, uint64_t>* known,
                const char* text,
                const AddString& add) {
  const auto [entry, is_new] = known->emplace(text, known->size() + 1);
  if (is_new) {
    auto* string = add();
    string->set_iid(entry->second);
    string->set_name(text);
  }
  return entry->second;
}

}  // namespace

ThreadTracer::ThreadTracer(std::shared_ptr<protozero::DataSource> source,
                           std::string thread_name)
    : thread_name_(std::move(thread_name)),
      process_id_(static_cast<int32_t>(getpid())),
      thread_id_(static_cast<int64_t>(syscall(SYS_gettid))),
      writers_(std::move(source)) {}

void ThreadTracer::BeginSlice(const char* name) {
  BeginSlice(name, nullptr, 0);
}

void ThreadTracer::BeginSlice(const char* name,
                              const char* key,
                              uint64_t value) {
  writers_.Trace([&](TraceContext& context) {
    if (context.TakeIncrementalStateCleared())
      WritePreamble(&context);
    Interned& interned = interned_[context.instance().id()];
    auto packet = context.NewTracePacket<TracePacket>();
    packet->set_timestamp(BootTime());
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    // Before the event: a message ends where its parent is written to.
    InternedData* new_strings = nullptr;
    const auto strings = [&] {
      if (new_strings == nullptr)
        new_strings = packet->set_interned_data();
      return new_strings;
    };
    const uint64_t name_iid = Intern(&interned.event_names, name, [&] {
      return strings()->add_event_names();
    });
    uint64_t key_iid = 0;
    if (key != nullptr) {
      key_iid = Intern(&interned.annotation_names, key,
                       [&] { return strings()->add_debug_annotation_names(); });
    }
    auto* event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_SLICE_BEGIN);
    event->set_track_uuid(ThreadTrack(thread_id_));
    event->add_category_iids(kCategoryIid);
    event->set_name_iid(name_iid);
    if (key != nullptr) {
      auto* annotation = event->add_debug_annotations();
      annotation->set_name_iid(key_iid);
      annotation->set_uint_value(value);
    }
  });
}

void ThreadTracer::EndSlice() {
  writers_.Trace([&](TraceContext& context) {
    // A slice that began before the session did. Viewers pass over its end.
    if (context.TakeIncrementalStateCleared())
      WritePreamble(&context);
    auto packet = context.NewTracePacket<TracePacket>();
    packet->set_timestamp(BootTime());
    packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    auto* event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_SLICE_END);
    event->set_track_uuid(ThreadTrack(thread_id_));
  });
}

void ThreadTracer::WritePreamble(TraceContext* context) {
  interned_[context->instance().id()] = Interned();
  {
    auto packet = context->NewTracePacket<TracePacket>();
    packet->set_timestamp(BootTime());
    packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    packet->set_first_packet_on_sequence(true);
    auto* category = packet->set_interned_data()->add_event_categories();
    category->set_iid(kCategoryIid);
    category->set_name(kCategory);
    auto* track = packet->set_track_descriptor();
    track->set_uuid(ProcessTrack(process_id_));
    auto* process = track->set_process();
    process->set_pid(process_id_);
    process->set_process_name(kProcessName);
  }
  auto packet = context->NewTracePacket<TracePacket>();
  packet->set_timestamp(BootTime());
  auto* track = packet->set_track_descriptor();
  track->set_uuid(ThreadTrack(thread_id_));
  track->set_parent_uuid(ProcessTrack(process_id_));
  auto* thread = track->set_thread();
  thread->set_pid(process_id_);
  thread->set_tid(thread_id_);
  thread->set_thread_name(thread_name_);
}

}  // namespace traced_workers
