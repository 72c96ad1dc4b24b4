// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/timeline_reader.h"

#include <string>
#include <utility>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/events/event_args.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::trace::Trace;
using protozero::trace::TracePacket;

const pbz::MessageType* EventType(const pbz::MessageType& trace) {
  return trace.FindField(Trace::kPacketFieldNumber)
      ->message->FindField(TracePacket::kTrackEventFieldNumber)
      ->message;
}

}  // namespace

TimelineReader::TimelineReader(Callbacks callbacks)
    : TraceReader(WithArgs(std::move(callbacks))) {}

TimelineReader::Callbacks TimelineReader::WithArgs(Callbacks callbacks) {
  callbacks.format_args = [this](const protozero::EventArgs& event,
                                 std::string* args) {
    if (arg_schema_.event == nullptr && arg_schema_.messages != nullptr)
      arg_schema_.event = EventType(*arg_schema_.messages->Type());
    ArgEncoder encoder(&texts_, args);
    num_undescribed_ += AddEventArgs(event, arg_schema_, &encoder);
  };
  callbacks.on_extension_descriptor = [this](ConstBytes descriptor) {
    if (arg_schema_.messages == nullptr)
      return;
    arg_schema_.messages->Add(descriptor);
    arg_schema_.event = nullptr;
  };
  callbacks.on_kernel_packet = [this](const protozero::KernelPacket& packet) {
    if (times_ != nullptr)
      times_->Add(packet);
  };
  return callbacks;
}

}  // namespace pztrace
