// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/annotation_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "protozero/tracing/trace.h"
#include "src/pbz/text.h"

namespace pztrace {

namespace {

using Annotation = protozero::trace::DebugAnnotation;
using protozero::ConstBytes;
using protozero::EventArgs;
using protozero::trace::InternedData;

// Returns "?" if it is not known.
std::string_view InternedText(ConstBytes entry) {
  if (entry.data == nullptr)
    return "?";
  const protozero::trace::InternedString::Decoder text(entry);
  return text.str().ToStdStringView();
}

// Dictionaries in dictionaries; what is deeper is null.
constexpr int kMaxDepth = 32;

void AppendValue(const Annotation::Decoder& annotation,
                 const EventArgs& event,
                 int depth,
                 std::string* json);

std::string_view NameOf(const Annotation::Decoder& annotation,
                        const EventArgs& event) {
  if (!annotation.has_name_iid()) {
    const auto name = annotation.name();
    return {name.data, name.size};
  }
  return InternedText(event.FindInterned(
      InternedData::kDebugAnnotationNamesFieldNumber, annotation.name_iid()));
}

void AppendMember(ConstBytes bytes,
                  const EventArgs& event,
                  int depth,
                  std::string* json) {
  const Annotation::Decoder annotation(bytes);
  pbz::AppendJsonString(NameOf(annotation, event), json);
  *json += ':';
  AppendValue(annotation, event, depth, json);
}

void AppendValue(const Annotation::Decoder& annotation,
                 const EventArgs& event,
                 int depth,
                 std::string* json) {
  if (annotation.has_bool_value()) {
    *json += annotation.bool_value() ? "true" : "false";
  } else if (annotation.has_uint_value()) {
    *json += std::to_string(annotation.uint_value());
  } else if (annotation.has_int_value()) {
    *json += std::to_string(annotation.int_value());
  } else if (annotation.has_double_value()) {
    if (isfinite(annotation.double_value()))
      pbz::AppendDouble(annotation.double_value(), json);
    else
      *json += "null";
  } else if (annotation.has_string_value()) {
    const auto text = annotation.string_value();
    pbz::AppendJsonString({text.data, text.size}, json);
  } else if (annotation.has_string_value_iid()) {
    pbz::AppendJsonString(
        InternedText(event.FindInterned(
            InternedData::kDebugAnnotationStringValuesFieldNumber,
            annotation.string_value_iid())),
        json);
  } else if (annotation.has_pointer_value()) {
    char text[32];
    snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"",
             annotation.pointer_value());
    *json += text;
  } else if (annotation.has_legacy_json_value()) {
    // Any text may be there, so it is not taken for JSON.
    const auto text = annotation.legacy_json_value();
    pbz::AppendJsonString({text.data, text.size}, json);
  } else if (depth == kMaxDepth) {
    *json += "null";
  } else if (annotation.has_dict_entries()) {
    *json += '{';
    bool is_first = true;
    for (const ConstBytes entry : annotation.dict_entries()) {
      *json += is_first ? "" : ",";
      is_first = false;
      AppendMember(entry, event, depth + 1, json);
    }
    *json += '}';
  } else if (annotation.has_array_values()) {
    *json += '[';
    bool is_first = true;
    for (const ConstBytes value : annotation.array_values()) {
      *json += is_first ? "" : ",";
      is_first = false;
      AppendValue(Annotation::Decoder(value), event, depth + 1, json);
    }
    *json += ']';
  } else {
    *json += "null";
  }
}

}  // namespace

void AppendMember(ConstBytes annotation,
                  const EventArgs& event,
                  std::string* members) {
  if (!members->empty())
    *members += ',';
  AppendMember(annotation, event, 0, members);
}

}  // namespace pztrace
