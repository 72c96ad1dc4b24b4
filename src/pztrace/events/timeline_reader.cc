// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/timeline_reader.h"

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <utility>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/events/event_args.h"
#include "src/pztrace/events/json_text.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::trace::Trace;
using protozero::trace::TracePacket;

// Calls |callback| with an |event| whose arguments have their texts, and each
// name once: an end may have repeated a name of the beginning.
template <typename Event>
std::function<void(const Event&)> WithWholeArgs(
    std::function<void(const Event&)> callback,
    const ArgTexts& texts) {
  if (!callback)
    return callback;
  return [callback = std::move(callback), &texts](const Event& event) {
    const std::string& args = event.details->args;
    const bool has_references = ArgTexts::HasReferences(args);
    if (!has_references && !MayRepeatMembers(args))
      return callback(event);
    EventDetails details = *event.details;
    RemoveRepeatedMembers(0, &details.args);
    if (has_references) {
      texts.Resolve(&details.args);
      // A name may be a reference in one place, and a text in another.
      RemoveRepeatedMembers(0, &details.args);
    }
    Event changed = event;
    changed.details = &details;
    callback(changed);
  };
}

const pbz::MessageType* EventType(const pbz::MessageType& trace) {
  return trace.FindField(Trace::kPacketFieldNumber)
      ->message->FindField(TracePacket::kTrackEventFieldNumber)
      ->message;
}

}  // namespace

TimelineReader::TimelineReader(Callbacks callbacks)
    : TraceReader(WithJson(std::move(callbacks))) {}

TimelineReader::Callbacks TimelineReader::WithJson(Callbacks callbacks) {
  if (callbacks.reads_details) {
    callbacks.on_slice = WithWholeArgs(std::move(callbacks.on_slice), texts_);
    callbacks.on_instant =
        WithWholeArgs(std::move(callbacks.on_instant), texts_);
    callbacks.on_unfinished =
        WithWholeArgs(std::move(callbacks.on_unfinished), texts_);
  }
  callbacks.format_args = [this](const protozero::EventArgs& event,
                                 std::string* members) {
    if (arg_schema_.event == nullptr && arg_schema_.messages != nullptr)
      arg_schema_.event = EventType(*arg_schema_.messages->Type());
    AppendEventArgs(event, arg_schema_, &texts_, members);
  };
  callbacks.on_extension_descriptor = [this](ConstBytes descriptor) {
    if (arg_schema_.messages == nullptr)
      return;
    arg_schema_.messages->Add(descriptor);
    arg_schema_.event = nullptr;
  };
  return callbacks;
}

}  // namespace pztrace
