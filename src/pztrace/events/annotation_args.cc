// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/annotation_args.h"

#include <string>
#include <variant>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/message_items.h"
#include "src/program/json_reader.h"
#include "src/program/text.h"

namespace pztrace {

namespace {

using Annotation = protozero::trace::DebugAnnotation;
using Nested = Annotation::NestedValue;
using Container = program::ValueSink::Container;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::EventArgs;
using protozero::Field;
using protozero::proto_utils::ProtoWireType;
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
  if (value.nested_type() == Nested::UNSPECIFIED ||
      depth >= program::kMaxJsonDepth)
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

ProtoWireType WireTypeOf(uint32_t field_id) {
  switch (field_id) {
    case Annotation::kNameFieldNumber:
    case Annotation::kStringValueFieldNumber:
    case Annotation::kNestedValueFieldNumber:
    case Annotation::kLegacyJsonValueFieldNumber:
    case Annotation::kDictEntriesFieldNumber:
    case Annotation::kArrayValuesFieldNumber:
    case Annotation::kProtoTypeNameFieldNumber:
    case Annotation::kProtoValueFieldNumber:
      return ProtoWireType::kLengthDelimited;
    case Annotation::kDoubleValueFieldNumber:
      return ProtoWireType::kFixed64;
    default:
      return ProtoWireType::kVarInt;
  }
}

// Calls |function| with the fields of an annotation that have the right type.
template <typename Function>
void ForEachField(ConstBytes annotation, Function function) {
  protozero::ProtoDecoder decoder(annotation);
  for (auto field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.type() == WireTypeOf(field.id()))
      function(field);
  }
}

// The fields of an annotation. An own reader, because finding the member of the
// large oneof with a decoder takes most of the time of reading arguments.
struct AnnotationFields {
  explicit AnnotationFields(ConstBytes annotation) : bytes(annotation) {
    ForEachField(annotation, [this](const Field& field) {
      switch (field.id()) {
        case Annotation::kNameFieldNumber:
          name = field;
          break;
        case Annotation::kNameIidFieldNumber:
          name_iid = field;
          break;
        case Annotation::kProtoTypeNameFieldNumber:
          type_name = field;
          break;
        case Annotation::kProtoTypeNameIidFieldNumber:
          type_name_iid = field;
          break;
        case Annotation::kProtoValueFieldNumber:
          message = field;
          break;
        case Annotation::kDictEntriesFieldNumber:
          has_entries = true;
          break;
        case Annotation::kArrayValuesFieldNumber:
          has_elements = true;
          break;
        case Annotation::kBoolValueFieldNumber:
        case Annotation::kUintValueFieldNumber:
        case Annotation::kIntValueFieldNumber:
        case Annotation::kDoubleValueFieldNumber:
        case Annotation::kStringValueFieldNumber:
        case Annotation::kPointerValueFieldNumber:
        case Annotation::kNestedValueFieldNumber:
        case Annotation::kLegacyJsonValueFieldNumber:
        case Annotation::kStringValueIidFieldNumber:
          value = field;
          break;
        default:
          break;
      }
    });
  }

  ConstBytes bytes;
  Field name{};
  Field name_iid{};
  Field value{};  // The last member of the oneof.
  Field type_name{};
  Field type_name_iid{};
  Field message{};
  bool has_entries = false;
  bool has_elements = false;
};

// Adds the annotations of an event.
class AnnotationReader {
 public:
  AnnotationReader(const EventArgs& event,
                   const ArgSchema& schema,
                   ArgEncoder* args)
      : event_(event), schema_(schema), args_(args) {}

  void AddNamed(const AnnotationFields& annotation, int depth) {
    if (annotation.name_iid.valid()) {
      args_->SharedName(TextOf(InternedData::kDebugAnnotationNamesFieldNumber,
                               annotation.name_iid.as_uint64()));
    } else {
      args_->Name(ViewOf(annotation.name.as_string()));
    }
    AddValue(annotation, depth);
  }

 private:
  // Returns the text that has the number |iid| in a list of InternedData.
  std::string_view TextOf(uint32_t list, uint64_t iid) const {
    return InternedText(event_.FindInterned(list, iid));
  }

  void AddValue(const AnnotationFields& annotation, int depth) {
    const Field& value = annotation.value;
    switch (value.id()) {
      case Annotation::kBoolValueFieldNumber:
        return args_->Add(value.as_bool());
      case Annotation::kUintValueFieldNumber:
        return args_->Add(value.as_uint64());
      case Annotation::kIntValueFieldNumber:
        return args_->Add(value.as_int64());
      case Annotation::kDoubleValueFieldNumber:
        return args_->Add(value.as_double());
      case Annotation::kStringValueFieldNumber:
        return args_->Add(ViewOf(value.as_string()));
      case Annotation::kStringValueIidFieldNumber:
        return args_->AddShared(
            TextOf(InternedData::kDebugAnnotationStringValuesFieldNumber,
                   value.as_uint64()));
      case Annotation::kPointerValueFieldNumber:
        return args_->Add(program::Address{value.as_uint64()});
      case Annotation::kLegacyJsonValueFieldNumber:
        return AddJson(ViewOf(value.as_string()));
      case Annotation::kNestedValueFieldNumber:
        return AddNested(Nested::Decoder(value.as_bytes()), depth, args_);
      default:
        break;
    }
    if (annotation.message.valid())
      AddMessage(annotation);
    else if (depth < program::kMaxJsonDepth && annotation.has_entries)
      AddEntries(annotation.bytes, depth + 1);
    else if (depth < program::kMaxJsonDepth && annotation.has_elements)
      AddElements(annotation.bytes, depth + 1);
    else
      args_->Add(std::monostate());
  }

  void AddJson(std::string_view text) {
    // The field may hold any text.
    if (!args_->Try([&] { return program::ReadJson(text, args_); }))
      args_->Add(text);
  }

  void AddMessage(const AnnotationFields& annotation) {
    std::string_view name = ViewOf(annotation.type_name.as_string());
    if (annotation.type_name_iid.valid()) {
      name = TextOf(InternedData::kDebugAnnotationValueTypeNamesFieldNumber,
                    annotation.type_name_iid.as_uint64());
    }
    name.remove_prefix(!name.empty() && name[0] == '.');
    const ConstBytes bytes = annotation.message.as_bytes();
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

  void AddEntries(ConstBytes annotation, int depth) {
    args_->Begin(Container::kDictionary);
    ForEachField(annotation, [&](const Field& field) {
      if (field.id() == Annotation::kDictEntriesFieldNumber)
        AddNamed(AnnotationFields(field.as_bytes()), depth);
    });
    args_->End();
  }

  void AddElements(ConstBytes annotation, int depth) {
    args_->Begin(Container::kArray);
    ForEachField(annotation, [&](const Field& field) {
      if (field.id() == Annotation::kArrayValuesFieldNumber)
        AddValue(AnnotationFields(field.as_bytes()), depth);
    });
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
      .AddNamed(AnnotationFields(annotation), 0);
}

}  // namespace pztrace
