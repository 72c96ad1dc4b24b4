// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/event_args.h"

#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <variant>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/annotation_args.h"
#include "src/pztrace/events/extension_args.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::EventArgs;
using protozero::proto_utils::ProtoWireType;
using trace::InternedData;
using trace::TrackEvent;

// Adds fields, and fields of those.
class FieldAdder {
 public:
  FieldAdder(const EventArgs& event, ArgEncoder* args)
      : event_(event), args_(args) {}

  void AddText(std::string_view name, ConstChars text) {
    AddText(name, text.ToStdStringView());
  }
  void AddInternedText(std::string_view name, uint32_t list, uint64_t iid) {
    AddText(name, InternedText(event_.FindInterned(list, iid)));
  }
  template <typename Number>
  void AddNumber(std::string_view name, Number number) {
    Name(name);
    if constexpr (std::is_signed_v<Number>)
      args_->Add(int64_t{number});
    else
      args_->Add(uint64_t{number});
  }
  // Calls |add|, which adds the fields of the field |name|.
  template <typename Function>
  void AddFields(std::string_view name, Function add) {
    Name(name);
    args_->Begin(program::ValueSink::Container::kDictionary);
    add();
    args_->End();
  }

  void AddLocation(std::string_view name, ConstBytes bytes) {
    if (bytes.data == nullptr) {
      Name(name);
      return args_->Add(std::monostate());
    }
    const trace::SourceLocation::Decoder location(bytes);
    AddFields(name, [&] {
      if (location.has_file_name())
        AddText("file_name", location.file_name());
      if (location.has_function_name())
        AddText("function_name", location.function_name());
      if (location.has_line_number())
        AddNumber("line_number", location.line_number());
    });
  }
  void AddInternedLocation(std::string_view name, uint64_t iid) {
    AddLocation(name, event_.FindInterned(
                          InternedData::kSourceLocationsFieldNumber, iid));
  }

  void AddCorrelationId(const TrackEvent::Decoder& event) {
    constexpr std::string_view kName = "correlation_id";
    if (event.has_correlation_id()) {
      AddNumber(kName, event.correlation_id());
    } else if (event.has_correlation_id_str()) {
      AddText(kName, event.correlation_id_str());
    } else if (event.has_correlation_id_str_iid()) {
      AddInternedText(kName, InternedData::kCorrelationIdStrFieldNumber,
                      event.correlation_id_str_iid());
    }
  }
  void AddLogMessage(ConstBytes bytes);
  void AddHistogramSample(ConstBytes bytes);
  void AddChromeDetails(const TrackEvent::Decoder& event);

 private:
  void Name(std::string_view name) {
    args_->Name(name, program::ValueSink::NameKind::kField);
  }
  void AddText(std::string_view name, std::string_view text) {
    Name(name);
    args_->AddShared(text);
  }

  const EventArgs& event_;
  ArgEncoder* const args_;
};

void FieldAdder::AddLogMessage(ConstBytes bytes) {
  constexpr std::string_view kPriorities[] = {
      "PRIO_UNSPECIFIED", "PRIO_UNUSED", "PRIO_VERBOSE", "PRIO_DEBUG",
      "PRIO_INFO",        "PRIO_WARN",   "PRIO_ERROR",   "PRIO_FATAL"};
  const trace::LogMessage::Decoder message(bytes);
  AddFields("log_message", [&] {
    if (message.has_body_iid()) {
      AddInternedText("body", InternedData::kLogMessageBodyFieldNumber,
                      message.body_iid());
    }
    const auto priority = static_cast<uint32_t>(message.prio());
    if (message.has_prio() && priority < std::size(kPriorities))
      AddText("prio", kPriorities[priority]);
    if (message.has_source_location_iid())
      AddInternedLocation("source_location", message.source_location_iid());
  });
}

void FieldAdder::AddHistogramSample(ConstBytes bytes) {
  const trace::ChromeHistogramSample::Decoder sample(bytes);
  AddFields("chrome_histogram_sample", [&] {
    if (sample.has_name_hash())
      AddNumber("name_hash", sample.name_hash());
    // A name of its own outranks an interned one.
    if (sample.has_name()) {
      AddText("name", sample.name());
    } else if (sample.has_name_iid()) {
      AddInternedText("name", InternedData::kHistogramNamesFieldNumber,
                      sample.name_iid());
    }
    if (sample.has_sample())
      AddNumber("sample", sample.sample());
  });
}

void FieldAdder::AddChromeDetails(const TrackEvent::Decoder& event) {
  if (event.has_chrome_user_event()) {
    const trace::ChromeUserEvent::Decoder user(event.chrome_user_event());
    AddFields("chrome_user_event", [&] {
      if (user.has_action())
        AddText("action", user.action());
      if (user.has_action_hash())
        AddNumber("action_hash", user.action_hash());
    });
  }
  if (event.has_chrome_keyed_service()) {
    const trace::ChromeKeyedService::Decoder service(
        event.chrome_keyed_service());
    AddFields("chrome_keyed_service", [&] { AddText("name", service.name()); });
  }
  if (event.has_chrome_legacy_ipc()) {
    using Ipc = trace::ChromeLegacyIpc;
    const Ipc::Decoder ipc(event.chrome_legacy_ipc());
    AddFields("chrome_legacy_ipc", [&] {
      // A class that has no name here is none.
      constexpr std::string_view kPrefix = "CLASS_";
      const auto message_class = static_cast<uint32_t>(ipc.message_class());
      const std::string_view name = trace::ChromeLegacyIpc_MessageClass_Name(
          message_class <= trace::ChromeLegacyIpc_MessageClass_MAX
              ? static_cast<Ipc::MessageClass>(message_class)
              : Ipc::CLASS_UNSPECIFIED);
      AddText("message_class", name.substr(kPrefix.size()));
      AddNumber("message_line", ipc.message_line());
    });
  }
}

void AddAnnotations(const EventArgs& event,
                    const ArgSchema& schema,
                    ArgEncoder* args) {
  protozero::ProtoDecoder decoder(event.event());
  for (auto field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == TrackEvent::kDebugAnnotationsFieldNumber &&
        field.type() == ProtoWireType::kLengthDelimited) {
      AddAnnotation(field.as_bytes(), event, schema, args);
    }
  }
}

}  // namespace

uint64_t AddEventArgs(const EventArgs& event,
                      const ArgSchema& schema,
                      ArgEncoder* args) {
  AddAnnotations(event, schema, args);
  if (!event.has_other_args())
    return 0;
  const TrackEvent::Decoder decoder(event.event());
  FieldAdder fields(event, args);
  fields.AddCorrelationId(decoder);
  if (decoder.has_source_location()) {
    fields.AddLocation("source_location", decoder.source_location());
  } else if (decoder.has_source_location_iid()) {
    fields.AddInternedLocation("source_location",
                               decoder.source_location_iid());
  }
  if (decoder.has_task_execution()) {
    const trace::TaskExecution::Decoder task(decoder.task_execution());
    fields.AddFields("task_execution", [&] {
      fields.AddInternedLocation("posted_from", task.posted_from_iid());
    });
  }
  if (decoder.has_log_message())
    fields.AddLogMessage(decoder.log_message());
  if (decoder.has_chrome_histogram_sample())
    fields.AddHistogramSample(decoder.chrome_histogram_sample());
  fields.AddChromeDetails(decoder);
  return schema.event == nullptr
             ? 0
             : AddExtensions(event.event(), *schema.event, args);
}

}  // namespace pztrace
