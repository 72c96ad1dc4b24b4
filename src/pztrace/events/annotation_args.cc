// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/annotation_args.h"

#include <inttypes.h>
#include <stdio.h>

#include <string>
#include <variant>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/message_items.h"
#include "src/program/text.h"
#include "src/pztrace/events/json_reader.h"

namespace pztrace {

namespace {

using Annotation = protozero::trace::DebugAnnotation;
using Nested = Annotation::NestedValue;
using Container = program::ValueSink::Container;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::EventArgs;
using protozero::trace::InternedData;

std::string_view ViewOf(ConstChars text) {
  return {text.data, text.size};
}

// Adds the value of a nested annotation in the older form.
void AddNested(const Nested::Decoder& value, int depth, ArgEncoder* args) {
  if (value.has_bool_value())
    return args->Add(value.bool_value());
  if (value.has_int_value())
    return args->Add(value.int_value());
  if (value.has_double_value())
    return args->Add(value.double_value());
  if (value.has_string_value())
    return args->Add(ViewOf(value.string_value()));
  if (value.nested_type() == Nested::UNSPECIFIED || depth >= kMaxJsonDepth)
    return args->Add(std::monostate());
  if (value.nested_type() == Nested::ARRAY) {
    args->Begin(Container::kArray);
    for (const ConstBytes element : value.array_values())
      AddNested(Nested::Decoder(element), depth + 1, args);
    return args->End();
  }
  args->Begin(Container::kDictionary);
  auto member = value.dict_values();
  // A name without a value is left out.
  for (auto name = value.dict_keys(); name && member; ++name, ++member) {
    args->Name(ViewOf(*name));
    AddNested(Nested::Decoder(*member), depth + 1, args);
  }
  args->End();
}

// Adds the annotations of an event.
class AnnotationReader {
 public:
  AnnotationReader(const EventArgs& event,
                   const ArgSchema& schema,
                   ArgEncoder* args)
      : event_(event), schema_(schema), args_(args) {}

  void AddNamed(const Annotation::Decoder& annotation, int depth) {
    if (annotation.has_name_iid()) {
      args_->SharedName(TextOf(InternedData::kDebugAnnotationNamesFieldNumber,
                               annotation.name_iid()));
    } else {
      args_->Name(ViewOf(annotation.name()));
    }
    AddValue(annotation, depth);
  }

 private:
  // Returns the text that has the number |iid| in a list of InternedData.
  std::string_view TextOf(uint32_t list, uint64_t iid) const {
    return InternedText(event_.FindInterned(list, iid));
  }

  void AddValue(const Annotation::Decoder& annotation, int depth) {
    using Case = Annotation::Decoder::ValueCase;
    switch (annotation.value_case()) {
      case Case::kBoolValue:
        return args_->Add(annotation.bool_value());
      case Case::kUintValue:
        return args_->Add(annotation.uint_value());
      case Case::kIntValue:
        return args_->Add(annotation.int_value());
      case Case::kDoubleValue:
        return args_->Add(annotation.double_value());
      case Case::kStringValue:
        return args_->Add(ViewOf(annotation.string_value()));
      case Case::kStringValueIid:
        return args_->AddShared(
            TextOf(InternedData::kDebugAnnotationStringValuesFieldNumber,
                   annotation.string_value_iid()));
      case Case::kPointerValue:
        return AddPointer(annotation.pointer_value());
      case Case::kLegacyJsonValue:
        return AddJson(ViewOf(annotation.legacy_json_value()));
      case Case::kNestedValue:
        return AddNested(Nested::Decoder(annotation.nested_value()), depth,
                         args_);
      case Case::kNotSet:
        break;
    }
    if (annotation.has_proto_value())
      AddMessage(annotation);
    else if (depth < kMaxJsonDepth && annotation.has_dict_entries())
      AddEntries(annotation, depth + 1);
    else if (depth < kMaxJsonDepth && annotation.has_array_values())
      AddElements(annotation, depth + 1);
    else
      args_->Add(std::monostate());
  }

  void AddPointer(uint64_t value) {
    char text[32];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    args_->Add(std::string_view(text));
  }

  void AddJson(std::string_view text) {
    // The field may hold any text.
    if (!args_->Try([&] { return ReadJson(text, args_); }))
      args_->Add(text);
  }

  void AddMessage(const Annotation::Decoder& annotation) {
    std::string_view name = ViewOf(annotation.proto_type_name());
    if (annotation.has_proto_type_name_iid()) {
      name = TextOf(InternedData::kDebugAnnotationValueTypeNamesFieldNumber,
                    annotation.proto_type_name_iid());
    }
    name.remove_prefix(!name.empty() && name[0] == '.');
    const ConstBytes bytes = annotation.proto_value();
    const pbz::MessageType* const type =
        schema_.messages == nullptr ? nullptr
                                    : schema_.messages->FindMessage(name);
    pbz::MessageItems message;
    if (type != nullptr && message.Read(bytes, 0, *type, nullptr))
      return pbz::AddMessageValue(message.items(), args_);
    std::string base64;
    program::AppendBase64(bytes.ToStdStringView(), &base64);
    args_->Begin(Container::kDictionary);
    args_->Name("@type");
    args_->AddShared(name);
    args_->Name("value");
    args_->Add(std::string_view(base64));
    args_->End();
  }

  void AddEntries(const Annotation::Decoder& annotation, int depth) {
    args_->Begin(Container::kDictionary);
    for (const ConstBytes entry : annotation.dict_entries())
      AddNamed(Annotation::Decoder(entry), depth);
    args_->End();
  }

  void AddElements(const Annotation::Decoder& annotation, int depth) {
    args_->Begin(Container::kArray);
    for (const ConstBytes value : annotation.array_values())
      AddValue(Annotation::Decoder(value), depth);
    args_->End();
  }

  const EventArgs& event_;
  const ArgSchema& schema_;
  ArgEncoder* const args_;
};

}  // namespace

std::string_view InternedText(ConstBytes entry) {
  if (entry.data == nullptr)
    return "?";
  // EventName and the like have the same form.
  constexpr uint32_t kText = protozero::trace::InternedString::kStrFieldNumber;
  const auto text = protozero::ProtoDecoder(entry).FindField(kText).as_bytes();
  return {reinterpret_cast<const char*>(text.data), text.size};
}

void AddAnnotation(ConstBytes annotation,
                   const EventArgs& event,
                   const ArgSchema& schema,
                   ArgEncoder* args) {
  AnnotationReader(event, schema, args)
      .AddNamed(Annotation::Decoder(annotation), 0);
}

}  // namespace pztrace
