// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PROTOS_JSON_SCHEMA_H_
#define SRC_OTLP_PROTOS_JSON_SCHEMA_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// The messages of OTLP as JSON, for those who write and read it. It is that of
// protobuf, but ids have hexadecimal digits, and enumerations are numbers.

enum class JsonType : uint8_t {
  kText,
  kHexadecimal,  // Ids. All other bytes are Base64.
  kBase64,
  kBool,
  kUint32,
  kInt64,  // Integers of 64 bits are in quotes.
  kFixed32,
  kFixed64,
  kDouble,
  kMessage,
  kMessages,  // A repeated field.
};

enum class JsonKind : uint8_t {
  kNone,
  kDocument,  // A TracesData or a LogsData.
  kResourceSpans,
  kResourceLogs,
  kResource,
  kScopeSpans,
  kScopeLogs,
  kScope,
  kSpan,
  kEvent,
  kLink,
  kStatus,
  kLog,
  kKeyValue,
  kAnyValue,
  kArrayValue,
  kKeyValueList,
};

struct JsonField {
  std::string_view name;
  uint32_t number;
  JsonType type;
  JsonKind message = JsonKind::kNone;
};

// The fields of a message, in the order in which they are written.
struct JsonMessage {
  const JsonField* fields;
  size_t num_fields;

  const JsonField* begin() const { return fields; }
  const JsonField* end() const { return fields + num_fields; }
};

inline constexpr JsonField kJsonDocument[] = {
    {"resourceSpans", 1, JsonType::kMessages, JsonKind::kResourceSpans},
    {"resourceLogs", 1, JsonType::kMessages, JsonKind::kResourceLogs}};
inline constexpr JsonField kJsonResourceSpans[] = {
    {"resource", 1, JsonType::kMessage, JsonKind::kResource},
    {"scopeSpans", 2, JsonType::kMessages, JsonKind::kScopeSpans},
    {"schemaUrl", 3, JsonType::kText}};
inline constexpr JsonField kJsonResourceLogs[] = {
    {"resource", 1, JsonType::kMessage, JsonKind::kResource},
    {"scopeLogs", 2, JsonType::kMessages, JsonKind::kScopeLogs},
    {"schemaUrl", 3, JsonType::kText}};
inline constexpr JsonField kJsonResource[] = {
    {"attributes", 1, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 2, JsonType::kUint32}};
inline constexpr JsonField kJsonScopeSpans[] = {
    {"scope", 1, JsonType::kMessage, JsonKind::kScope},
    {"spans", 2, JsonType::kMessages, JsonKind::kSpan},
    {"schemaUrl", 3, JsonType::kText}};
inline constexpr JsonField kJsonScopeLogs[] = {
    {"scope", 1, JsonType::kMessage, JsonKind::kScope},
    {"logRecords", 2, JsonType::kMessages, JsonKind::kLog},
    {"schemaUrl", 3, JsonType::kText}};
inline constexpr JsonField kJsonScope[] = {
    {"name", 1, JsonType::kText},
    {"version", 2, JsonType::kText},
    {"attributes", 3, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 4, JsonType::kUint32}};
inline constexpr JsonField kJsonSpan[] = {
    {"traceId", 1, JsonType::kHexadecimal},
    {"spanId", 2, JsonType::kHexadecimal},
    {"traceState", 3, JsonType::kText},
    {"parentSpanId", 4, JsonType::kHexadecimal},
    {"flags", 16, JsonType::kFixed32},
    {"name", 5, JsonType::kText},
    {"kind", 6, JsonType::kUint32},
    {"startTimeUnixNano", 7, JsonType::kFixed64},
    {"endTimeUnixNano", 8, JsonType::kFixed64},
    {"attributes", 9, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 10, JsonType::kUint32},
    {"events", 11, JsonType::kMessages, JsonKind::kEvent},
    {"droppedEventsCount", 12, JsonType::kUint32},
    {"links", 13, JsonType::kMessages, JsonKind::kLink},
    {"droppedLinksCount", 14, JsonType::kUint32},
    {"status", 15, JsonType::kMessage, JsonKind::kStatus}};
inline constexpr JsonField kJsonEvent[] = {
    {"timeUnixNano", 1, JsonType::kFixed64},
    {"name", 2, JsonType::kText},
    {"attributes", 3, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 4, JsonType::kUint32}};
inline constexpr JsonField kJsonLink[] = {
    {"traceId", 1, JsonType::kHexadecimal},
    {"spanId", 2, JsonType::kHexadecimal},
    {"traceState", 3, JsonType::kText},
    {"attributes", 4, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 5, JsonType::kUint32},
    {"flags", 6, JsonType::kFixed32}};
inline constexpr JsonField kJsonStatus[] = {{"message", 2, JsonType::kText},
                                            {"code", 3, JsonType::kUint32}};
inline constexpr JsonField kJsonLog[] = {
    {"timeUnixNano", 1, JsonType::kFixed64},
    {"observedTimeUnixNano", 11, JsonType::kFixed64},
    {"severityNumber", 2, JsonType::kUint32},
    {"severityText", 3, JsonType::kText},
    {"body", 5, JsonType::kMessage, JsonKind::kAnyValue},
    {"attributes", 6, JsonType::kMessages, JsonKind::kKeyValue},
    {"droppedAttributesCount", 7, JsonType::kUint32},
    {"flags", 8, JsonType::kFixed32},
    {"traceId", 9, JsonType::kHexadecimal},
    {"spanId", 10, JsonType::kHexadecimal},
    {"eventName", 12, JsonType::kText}};
inline constexpr JsonField kJsonKeyValue[] = {
    {"key", 1, JsonType::kText},
    {"value", 2, JsonType::kMessage, JsonKind::kAnyValue}};
inline constexpr JsonField kJsonAnyValue[] = {
    {"stringValue", 1, JsonType::kText},
    {"boolValue", 2, JsonType::kBool},
    {"intValue", 3, JsonType::kInt64},
    {"doubleValue", 4, JsonType::kDouble},
    {"arrayValue", 5, JsonType::kMessage, JsonKind::kArrayValue},
    {"kvlistValue", 6, JsonType::kMessage, JsonKind::kKeyValueList},
    {"bytesValue", 7, JsonType::kBase64}};
inline constexpr JsonField kJsonArrayValue[] = {
    {"values", 1, JsonType::kMessages, JsonKind::kAnyValue}};
inline constexpr JsonField kJsonKeyValueList[] = {
    {"values", 1, JsonType::kMessages, JsonKind::kKeyValue}};

template <size_t n>
constexpr JsonMessage JsonMessageOf(const JsonField (&fields)[n]) {
  return {fields, n};
}

constexpr JsonMessage JsonMessageOf(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNone:
      break;
    case JsonKind::kDocument:
      return JsonMessageOf(kJsonDocument);
    case JsonKind::kResourceSpans:
      return JsonMessageOf(kJsonResourceSpans);
    case JsonKind::kResourceLogs:
      return JsonMessageOf(kJsonResourceLogs);
    case JsonKind::kResource:
      return JsonMessageOf(kJsonResource);
    case JsonKind::kScopeSpans:
      return JsonMessageOf(kJsonScopeSpans);
    case JsonKind::kScopeLogs:
      return JsonMessageOf(kJsonScopeLogs);
    case JsonKind::kScope:
      return JsonMessageOf(kJsonScope);
    case JsonKind::kSpan:
      return JsonMessageOf(kJsonSpan);
    case JsonKind::kEvent:
      return JsonMessageOf(kJsonEvent);
    case JsonKind::kLink:
      return JsonMessageOf(kJsonLink);
    case JsonKind::kStatus:
      return JsonMessageOf(kJsonStatus);
    case JsonKind::kLog:
      return JsonMessageOf(kJsonLog);
    case JsonKind::kKeyValue:
      return JsonMessageOf(kJsonKeyValue);
    case JsonKind::kAnyValue:
      return JsonMessageOf(kJsonAnyValue);
    case JsonKind::kArrayValue:
      return JsonMessageOf(kJsonArrayValue);
    case JsonKind::kKeyValueList:
      return JsonMessageOf(kJsonKeyValueList);
  }
  return {nullptr, 0};
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PROTOS_JSON_SCHEMA_H_
