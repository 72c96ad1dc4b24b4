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

// Dictionaries in dictionaries; what is deeper is null.
constexpr int kMaxDepth = 32;

void AppendValue(const Annotation::Decoder& annotation,
                 const AnnotationStrings& strings,
                 int depth,
                 std::string* json);

std::string_view NameOf(const Annotation::Decoder& annotation,
                        const AnnotationStrings& strings) {
  if (!annotation.has_name_iid()) {
    const auto name = annotation.name();
    return {name.data, name.size};
  }
  const auto found = strings.names.find(annotation.name_iid());
  return found == strings.names.end() ? "?" : std::string_view(found->second);
}

void AppendMember(ConstBytes bytes,
                  const AnnotationStrings& strings,
                  int depth,
                  std::string* json) {
  const Annotation::Decoder annotation(bytes);
  pbz::AppendJsonString(NameOf(annotation, strings), json);
  *json += ':';
  AppendValue(annotation, strings, depth, json);
}

void AppendValue(const Annotation::Decoder& annotation,
                 const AnnotationStrings& strings,
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
    const auto found = strings.values.find(annotation.string_value_iid());
    pbz::AppendJsonString(found == strings.values.end() ? "?" : found->second,
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
      AppendMember(entry, strings, depth + 1, json);
    }
    *json += '}';
  } else if (annotation.has_array_values()) {
    *json += '[';
    bool is_first = true;
    for (const ConstBytes value : annotation.array_values()) {
      *json += is_first ? "" : ",";
      is_first = false;
      AppendValue(Annotation::Decoder(value), strings, depth + 1, json);
    }
    *json += ']';
  } else {
    *json += "null";
  }
}

}  // namespace

void AppendMember(ConstBytes annotation,
                  const AnnotationStrings& strings,
                  std::string* members) {
  if (!members->empty())
    *members += ',';
  AppendMember(annotation, strings, 0, members);
}

}  // namespace pztrace
