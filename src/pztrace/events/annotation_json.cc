// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/annotation_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/message_items.h"
#include "src/program/text.h"
#include "src/pztrace/events/json_text.h"

namespace pztrace {

namespace {

using Annotation = protozero::trace::DebugAnnotation;
using Nested = Annotation::NestedValue;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::EventArgs;
using protozero::trace::InternedData;

// The source and the target of the texts of an annotation.
struct Context {
  const EventArgs& event;
  const ArgSchema& schema;
  ArgTexts& texts;
};

void AppendAnnotation(const Annotation::Decoder& annotation,
                      const Context& context,
                      int depth,
                      std::string* json);

std::string_view ViewOf(ConstChars text) {
  return {text.data, text.size};
}

// Appends the text that has the number |iid| in a list of InternedData.
void AppendInterned(uint32_t list,
                    uint64_t iid,
                    const Context& context,
                    std::string* json) {
  context.texts.Append(InternedText(context.event.FindInterned(list, iid)),
                       json);
}

void AppendNamed(const Annotation::Decoder& annotation,
                 const Context& context,
                 int depth,
                 std::string* json) {
  if (annotation.has_name_iid()) {
    AppendInterned(InternedData::kDebugAnnotationNamesFieldNumber,
                   annotation.name_iid(), context, json);
  } else {
    program::AppendJsonString(ViewOf(annotation.name()), json);
  }
  *json += ':';
  AppendAnnotation(annotation, context, depth, json);
}

void AppendEntries(const Annotation::Decoder& annotation,
                   const Context& context,
                   int depth,
                   std::string* json) {
  *json += '{';
  const size_t begin = json->size();
  for (const ConstBytes entry : annotation.dict_entries()) {
    *json += json->size() == begin ? "" : ",";
    AppendNamed(Annotation::Decoder(entry), context, depth, json);
  }
  RemoveRepeatedMembers(begin, json);
  *json += '}';
}

void AppendElements(const Annotation::Decoder& annotation,
                    const Context& context,
                    int depth,
                    std::string* json) {
  *json += '[';
  bool is_first = true;
  for (const ConstBytes value : annotation.array_values()) {
    *json += is_first ? "" : ",";
    is_first = false;
    AppendAnnotation(Annotation::Decoder(value), context, depth, json);
  }
  *json += ']';
}

// Appends a value in the older form of dictionaries and lists.
void AppendNested(const Nested::Decoder& value, int depth, std::string* json) {
  if (value.has_bool_value()) {
    *json += value.bool_value() ? "true" : "false";
  } else if (value.has_int_value()) {
    *json += std::to_string(value.int_value());
  } else if (value.has_double_value()) {
    AppendJsonDouble(value.double_value(), json);
  } else if (value.has_string_value()) {
    program::AppendJsonString(ViewOf(value.string_value()), json);
  } else if (value.nested_type() == Nested::UNSPECIFIED ||
             depth >= kMaxJsonDepth) {
    *json += "null";
  } else if (value.nested_type() == Nested::ARRAY) {
    *json += '[';
    bool is_first = true;
    for (const ConstBytes element : value.array_values()) {
      *json += is_first ? "" : ",";
      is_first = false;
      AppendNested(Nested::Decoder(element), depth + 1, json);
    }
    *json += ']';
  } else {
    *json += '{';
    const size_t begin = json->size();
    auto member = value.dict_values();
    // A name without a value is left out.
    for (auto name = value.dict_keys(); name && member; ++name, ++member) {
      *json += json->size() == begin ? "" : ",";
      program::AppendJsonString(ViewOf(*name), json);
      *json += ':';
      AppendNested(Nested::Decoder(*member), depth + 1, json);
    }
    RemoveRepeatedMembers(begin, json);
    *json += '}';
  }
}

void AppendPointer(uint64_t value, std::string* json) {
  char text[32];
  snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"", value);
  *json += text;
}

void AppendMessage(const Annotation::Decoder& annotation,
                   const Context& context,
                   std::string* json) {
  std::string_view name = ViewOf(annotation.proto_type_name());
  if (annotation.has_proto_type_name_iid()) {
    name = InternedText(context.event.FindInterned(
        InternedData::kDebugAnnotationValueTypeNamesFieldNumber,
        annotation.proto_type_name_iid()));
  }
  name.remove_prefix(!name.empty() && name[0] == '.');
  const ConstBytes bytes = annotation.proto_value();
  const pbz::MessageType* const type =
      context.schema.messages == nullptr
          ? nullptr
          : context.schema.messages->FindMessage(name);
  pbz::MessageItems message;
  if (type != nullptr && message.Read(bytes, 0, *type, nullptr))
    return pbz::AppendMessageJson(message.items(), json);
  *json += "{\"@type\":";
  context.texts.Append(name, json);
  *json += ",\"value\":\"";
  program::AppendBase64(bytes.ToStdStringView(), json);
  *json += "\"}";
}

void AppendAnnotation(const Annotation::Decoder& annotation,
                      const Context& context,
                      int depth,
                      std::string* json) {
  using Case = Annotation::Decoder::ValueCase;
  switch (annotation.value_case()) {
    case Case::kBoolValue:
      *json += annotation.bool_value() ? "true" : "false";
      return;
    case Case::kUintValue:
      *json += std::to_string(annotation.uint_value());
      return;
    case Case::kIntValue:
      *json += std::to_string(annotation.int_value());
      return;
    case Case::kDoubleValue:
      return AppendJsonDouble(annotation.double_value(), json);
    case Case::kStringValue:
      return program::AppendJsonString(ViewOf(annotation.string_value()), json);
    case Case::kStringValueIid:
      return AppendInterned(
          InternedData::kDebugAnnotationStringValuesFieldNumber,
          annotation.string_value_iid(), context, json);
    case Case::kPointerValue:
      return AppendPointer(annotation.pointer_value(), json);
    case Case::kLegacyJsonValue: {
      // The field may hold any text.
      const std::string_view text = ViewOf(annotation.legacy_json_value());
      if (!AppendJsonText(text, json))
        program::AppendJsonString(text, json);
      return;
    }
    case Case::kNestedValue:
      return AppendNested(Nested::Decoder(annotation.nested_value()), depth,
                          json);
    case Case::kNotSet:
      break;
  }
  if (annotation.has_proto_value())
    AppendMessage(annotation, context, json);
  else if (depth < kMaxJsonDepth && annotation.has_dict_entries())
    AppendEntries(annotation, context, depth + 1, json);
  else if (depth < kMaxJsonDepth && annotation.has_array_values())
    AppendElements(annotation, context, depth + 1, json);
  else
    *json += "null";
}

}  // namespace

std::string_view InternedText(ConstBytes entry) {
  if (entry.data == nullptr)
    return "?";
  // EventName and the like have the same form.
  constexpr uint32_t kText = protozero::trace::InternedString::kStrFieldNumber;
  const auto text = protozero::ProtoDecoder(entry).FindField(kText).as_bytes();
  return {reinterpret_cast<const char*>(text.data), text.size};
}

void AppendMember(ConstBytes annotation,
                  const EventArgs& event,
                  const ArgSchema& schema,
                  ArgTexts* texts,
                  std::string* members) {
  AppendNamed(Annotation::Decoder(annotation), {event, schema, *texts}, 0,
              members);
}

}  // namespace pztrace
