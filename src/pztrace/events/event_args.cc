// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/event_args.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/program/text.h"
#include "src/pztrace/events/annotation_json.h"
#include "src/pztrace/events/extension_json.h"
#include "src/pztrace/events/json_text.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::EventArgs;
using protozero::proto_utils::ProtoWireType;
using trace::InternedData;
using trace::TrackEvent;

constexpr char kCorrelationId[] = "correlation_id";
constexpr char kSourceLocation[] = "source_location";
constexpr char kTaskExecution[] = "task_execution";
constexpr char kLogMessage[] = "log_message";
constexpr char kHistogramSample[] = "chrome_histogram_sample";
constexpr char kUserEvent[] = "chrome_user_event";
constexpr char kKeyedService[] = "chrome_keyed_service";
constexpr char kLegacyIpc[] = "chrome_legacy_ipc";
constexpr std::string_view kFields[] = {
    kCorrelationId,   kSourceLocation, kTaskExecution, kLogMessage,
    kHistogramSample, kUserEvent,      kKeyedService,  kLegacyIpc};

// Writes an object, or only its members if the braces are there already.
class MemberWriter {
 public:
  MemberWriter(ArgTexts* texts, std::string* json)
      : texts_(texts), json_(json), begin_(json->size()) {}

  ArgTexts* texts() const { return texts_; }

  std::string* Add(std::string_view name) {
    if (json_->size() != begin_)
      *json_ += ',';
    program::AppendJsonString(name, json_);
    *json_ += ':';
    return json_;
  }
  void AddText(std::string_view name, std::string_view text) {
    texts_->Append(text, Add(name));
  }
  void AddText(std::string_view name, ConstChars text) {
    AddText(name, std::string_view(text.data, text.size));
  }
  template <typename Number>
  void AddNumber(std::string_view name, Number number) {
    *Add(name) += std::to_string(number);
  }

 private:
  ArgTexts* const texts_;
  std::string* const json_;
  const size_t begin_;
};

// Calls |add| with a writer of the members of the object |name|.
template <typename AddMembers>
void AddObject(std::string_view name,
               MemberWriter* members,
               const AddMembers& add) {
  std::string* const json = members->Add(name);
  *json += '{';
  MemberWriter object(members->texts(), json);
  add(&object);
  *json += '}';
}

void AddLocation(std::string_view name,
                 ConstBytes bytes,
                 MemberWriter* members) {
  if (bytes.data == nullptr) {
    *members->Add(name) += "null";
    return;
  }
  const trace::SourceLocation::Decoder location(bytes);
  AddObject(name, members, [&](MemberWriter* object) {
    if (location.has_file_name())
      object->AddText("file_name", location.file_name());
    if (location.has_function_name())
      object->AddText("function_name", location.function_name());
    if (location.has_line_number())
      object->AddNumber("line_number", location.line_number());
  });
}

void AddInternedLocation(std::string_view name,
                         uint64_t iid,
                         const EventArgs& event,
                         MemberWriter* members) {
  AddLocation(
      name, event.FindInterned(InternedData::kSourceLocationsFieldNumber, iid),
      members);
}

void AddLogMessage(ConstBytes bytes,
                   const EventArgs& event,
                   MemberWriter* members) {
  constexpr const char* kPriorities[] = {
      "PRIO_UNSPECIFIED", "PRIO_UNUSED", "PRIO_VERBOSE", "PRIO_DEBUG",
      "PRIO_INFO",        "PRIO_WARN",   "PRIO_ERROR",   "PRIO_FATAL"};
  const trace::LogMessage::Decoder message(bytes);
  AddObject(kLogMessage, members, [&](MemberWriter* object) {
    if (message.has_body_iid()) {
      object->AddText("body", InternedText(event.FindInterned(
                                  InternedData::kLogMessageBodyFieldNumber,
                                  message.body_iid())));
    }
    const auto priority = static_cast<uint32_t>(message.prio());
    if (message.has_prio() && priority < std::size(kPriorities))
      object->AddText("prio", kPriorities[priority]);
    if (message.has_source_location_iid()) {
      AddInternedLocation("source_location", message.source_location_iid(),
                          event, object);
    }
  });
}

void AddHistogramSample(ConstBytes bytes,
                        const EventArgs& event,
                        MemberWriter* members) {
  const trace::ChromeHistogramSample::Decoder sample(bytes);
  AddObject(kHistogramSample, members, [&](MemberWriter* object) {
    if (sample.has_name_hash())
      object->AddNumber("name_hash", sample.name_hash());
    if (sample.has_name_iid()) {
      object->AddText("name", InternedText(event.FindInterned(
                                  InternedData::kHistogramNamesFieldNumber,
                                  sample.name_iid())));
    } else if (sample.has_name()) {
      object->AddText("name", sample.name());
    }
    if (sample.has_sample())
      object->AddNumber("sample", sample.sample());
  });
}

void AddChromeDetails(const TrackEvent::Decoder& event, MemberWriter* members) {
  if (event.has_chrome_user_event()) {
    const trace::ChromeUserEvent::Decoder user(event.chrome_user_event());
    AddObject(kUserEvent, members, [&](MemberWriter* object) {
      if (user.has_action())
        object->AddText("action", user.action());
      if (user.has_action_hash())
        object->AddNumber("action_hash", user.action_hash());
    });
  }
  if (event.has_chrome_keyed_service()) {
    const trace::ChromeKeyedService::Decoder service(
        event.chrome_keyed_service());
    AddObject(kKeyedService, members, [&](MemberWriter* object) {
      object->AddText("name", service.name());
    });
  }
  if (event.has_chrome_legacy_ipc()) {
    const trace::ChromeLegacyIpc::Decoder ipc(event.chrome_legacy_ipc());
    AddObject(kLegacyIpc, members, [&](MemberWriter* object) {
      object->AddNumber("message_class", ipc.message_class());
      object->AddNumber("message_line", ipc.message_line());
    });
  }
}

void AddCorrelationId(const TrackEvent::Decoder& decoder,
                      const EventArgs& event,
                      MemberWriter* members) {
  if (decoder.has_correlation_id()) {
    members->AddNumber(kCorrelationId, decoder.correlation_id());
  } else if (decoder.has_correlation_id_str()) {
    members->AddText(kCorrelationId, decoder.correlation_id_str());
  } else if (decoder.has_correlation_id_str_iid()) {
    members->AddText(kCorrelationId,
                     InternedText(event.FindInterned(
                         InternedData::kCorrelationIdStrFieldNumber,
                         decoder.correlation_id_str_iid())));
  }
}

void AppendAnnotations(const EventArgs& event,
                       const ArgSchema& schema,
                       ArgTexts* texts,
                       std::string* members) {
  const size_t begin = members->size();
  protozero::ProtoDecoder decoder(event.event());
  for (auto field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() != TrackEvent::kDebugAnnotationsFieldNumber ||
        field.type() != ProtoWireType::kLengthDelimited) {
      continue;
    }
    *members += members->size() == begin ? "" : ",";
    AppendMember(field.as_bytes(), event, schema, texts, members);
  }
}

}  // namespace

void AppendEventArgs(const EventArgs& event,
                     const ArgSchema& schema,
                     ArgTexts* texts,
                     std::string* members) {
  const size_t begin = members->size();
  AppendAnnotations(event, schema, texts, members);
  if (!event.has_other_args())
    return;
  const TrackEvent::Decoder decoder(event.event());
  // These are in an object of their own, because a debug annotation may have
  // any name.
  std::string others;
  MemberWriter writer(texts, &others);
  AddCorrelationId(decoder, event, &writer);
  if (decoder.has_source_location()) {
    AddLocation(kSourceLocation, decoder.source_location(), &writer);
  } else if (decoder.has_source_location_iid()) {
    AddInternedLocation(kSourceLocation, decoder.source_location_iid(), event,
                        &writer);
  }
  if (decoder.has_task_execution()) {
    const trace::TaskExecution::Decoder task(decoder.task_execution());
    AddObject(kTaskExecution, &writer, [&](MemberWriter* object) {
      AddInternedLocation("posted_from", task.posted_from_iid(), event, object);
    });
  }
  if (decoder.has_log_message())
    AddLogMessage(decoder.log_message(), event, &writer);
  if (decoder.has_chrome_histogram_sample())
    AddHistogramSample(decoder.chrome_histogram_sample(), event, &writer);
  AddChromeDetails(decoder, &writer);
  if (schema.event != nullptr)
    AppendExtensions(event.event(), *schema.event, texts, &others);
  if (!others.empty()) {
    *members += members->size() == begin ? "" : ",";
    *members += others;
  }
}

bool IsEventField(std::string_view member) {
  if (!member.empty() && member.front() == '[' && member.back() == ']')
    return true;  // An extension.
  return std::find(std::begin(kFields), std::end(kFields), member) !=
         std::end(kFields);
}

}  // namespace pztrace
