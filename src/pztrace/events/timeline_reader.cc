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

TimelineReader::TimelineReader(Callbacks callbacks, bool finds_spans)
    : TraceReader(WithSpans(std::move(callbacks), finds_spans)) {}

TimelineReader::Callbacks TimelineReader::WithSpans(Callbacks callbacks,
                                                    bool finds_spans) {
  const bool formats_args = callbacks.reads_details;
  if (!finds_spans)
    return WithArgs(std::move(callbacks), formats_args);
  callbacks.reads_details = true;
  callbacks.on_slice =
      [this, next = std::move(callbacks.on_slice)](const Slice& slice) {
        if (!has_tasks_)
          spans_.Add(slice, texts_);
        if (next)
          next(slice);
      };
  callbacks.on_task_step =
      [this, next = std::move(callbacks.on_task_step)](const TaskStep& step) {
        // A loss may be one of steps, or of other packets.
        if (!has_tasks_ && step.kind != TaskStep::Kind::kLoss) {
          has_tasks_ = true;
          spans_ = {};
        }
        if (next)
          next(step);
      };
  return WithArgs(std::move(callbacks), formats_args);
}

TimelineReader::Callbacks TimelineReader::WithArgs(Callbacks callbacks,
                                                   bool formats_args) {
  callbacks.format_args = [this, formats_args](
                              const protozero::EventArgs& event,
                              std::string* args) {
    // Only spans need these arguments.
    if (!formats_args && has_tasks_)
      return;
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
