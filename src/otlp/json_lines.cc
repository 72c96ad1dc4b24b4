// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/json_lines.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <string_view>

#include "protozero/proto_decoder.h"
#include "src/otlp/protos/schema.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {
namespace {

// Writes the JSON of messages. Fields with default values are left out, but
// values of attributes are not.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  void Open(char bracket) {
    *out_ += bracket;
    is_first_ = true;
  }
  void Close(char bracket) {
    *out_ += bracket;
    is_first_ = false;
  }
  void Comma() {
    if (!is_first_)
      *out_ += ',';
    is_first_ = false;
  }
  void Key(std::string_view key) {
    Comma();
    *out_ += '"';
    out_->append(key);
    *out_ += "\":";
    is_first_ = true;
  }
  void Value(std::string_view json) {
    Comma();
    out_->append(json);
  }
  void Text(ConstChars text) { Quoted(text.ToStdStringView()); }
  void Number(uint64_t number) { Value(std::to_string(number)); }
  void Hex(ConstBytes bytes);
  void Base64(ConstBytes bytes);
  void Double(double value);
  void Quoted(std::string_view text);

  void TextField(std::string_view key, ConstChars text) {
    if (text.size != 0) {
      Key(key);
      Text(text);
    }
  }
  void HexField(std::string_view key, ConstBytes bytes) {
    if (bytes.size != 0) {
      Key(key);
      Hex(bytes);
    }
  }
  void NumberField(std::string_view key, uint64_t number) {
    if (number != 0) {
      Key(key);
      Number(number);
    }
  }
  // Protobuf's JSON has integers of 64 bits in quotes.
  void TimeField(std::string_view key, uint64_t time) {
    if (time != 0) {
      Key(key);
      Quoted(std::to_string(time));
    }
  }
  // Writes an array of the elements of a range.
  template <typename Range, typename Write>
  void Array(std::string_view key, Range range, Write write) {
    if (!range)
      return;
    Key(key);
    Open('[');
    for (; range; ++range) {
      Comma();
      Open('{');
      write(*range);
      Close('}');
    }
    Close(']');
  }

  void AnyValue(ConstBytes bytes);
  void KeyValues(std::string_view key, RepeatedFieldIterator<ConstBytes> list);

 private:
  std::string* const out_;
  bool is_first_ = true;
};

void JsonWriter::Quoted(std::string_view text) {
  Comma();
  *out_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out_ += '\\';
      *out_ += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      *out_ += escaped;
    } else {
      *out_ += c;
    }
  }
  *out_ += '"';
}

void JsonWriter::Hex(ConstBytes bytes) {
  Comma();
  *out_ += '"';
  for (size_t i = 0; i < bytes.size; ++i) {
    *out_ += "0123456789abcdef"[bytes.data[i] >> 4];
    *out_ += "0123456789abcdef"[bytes.data[i] & 15];
  }
  *out_ += '"';
}

void JsonWriter::Base64(ConstBytes bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Comma();
  *out_ += '"';
  for (size_t i = 0; i < bytes.size; i += 3) {
    const size_t left = bytes.size - i;
    uint32_t word = uint32_t{bytes.data[i]} << 16;
    word |= left > 1 ? uint32_t{bytes.data[i + 1]} << 8 : 0;
    word |= left > 2 ? bytes.data[i + 2] : 0;
    *out_ += kDigits[word >> 18];
    *out_ += kDigits[word >> 12 & 63];
    *out_ += left > 1 ? kDigits[word >> 6 & 63] : '=';
    *out_ += left > 2 ? kDigits[word & 63] : '=';
  }
  *out_ += '"';
}

void JsonWriter::Double(double value) {
  if (isnan(value))
    return Value("\"NaN\"");
  if (isinf(value))
    return Value(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  char text[32];
  snprintf(text, sizeof(text), "%.17g", value);
  // A locale may have another sign.
  for (char& c : text)
    c = c == ',' ? '.' : c;
  Value(text);
}

// The members of the object of a value.
void JsonWriter::AnyValue(ConstBytes bytes) {
  const otlp_schema::AnyValue::Decoder value(bytes);
  if (value.has_string_value()) {
    Key("stringValue");
    Text(value.string_value());
  } else if (value.has_bool_value()) {
    Key("boolValue");
    Value(value.bool_value() ? "true" : "false");
  } else if (value.has_int_value()) {
    Key("intValue");
    Quoted(std::to_string(value.int_value()));
  } else if (value.has_double_value()) {
    Key("doubleValue");
    Double(value.double_value());
  } else if (value.has_bytes_value()) {
    Key("bytesValue");
    Base64(value.bytes_value());
  } else if (value.has_array_value()) {
    const otlp_schema::ArrayValue::Decoder array(value.array_value());
    Key("arrayValue");
    Open('{');
    Array("values", array.values(),
          [this](ConstBytes element) { AnyValue(element); });
    Close('}');
  }
}

void JsonWriter::KeyValues(std::string_view key,
                           RepeatedFieldIterator<ConstBytes> list) {
  Array(key, list, [this](ConstBytes bytes) {
    const otlp_schema::KeyValue::Decoder attribute(bytes);
    Key("key");
    Text(attribute.key());
    Key("value");
    Open('{');
    AnyValue(attribute.value());
    Close('}');
  });
}

void WriteSpan(JsonWriter* json, ConstBytes bytes) {
  const otlp_schema::Span::Decoder span(bytes);
  json->HexField("traceId", span.trace_id());
  json->HexField("spanId", span.span_id());
  json->TextField("traceState", span.trace_state());
  json->HexField("parentSpanId", span.parent_span_id());
  json->NumberField("flags", span.flags());
  json->TextField("name", span.name());
  json->NumberField("kind", static_cast<uint64_t>(span.kind()));
  json->TimeField("startTimeUnixNano", span.start_time_unix_nano());
  json->TimeField("endTimeUnixNano", span.end_time_unix_nano());
  json->KeyValues("attributes", span.attributes());
  json->NumberField("droppedAttributesCount", span.dropped_attributes_count());
  json->Array("events", span.events(), [json](ConstBytes event_bytes) {
    const otlp_schema::Span_Event::Decoder event(event_bytes);
    json->TimeField("timeUnixNano", event.time_unix_nano());
    json->TextField("name", event.name());
    json->KeyValues("attributes", event.attributes());
    json->NumberField("droppedAttributesCount",
                      event.dropped_attributes_count());
  });
  json->NumberField("droppedEventsCount", span.dropped_events_count());
  json->Array("links", span.links(), [json](ConstBytes link_bytes) {
    const otlp_schema::Span_Link::Decoder link(link_bytes);
    json->HexField("traceId", link.trace_id());
    json->HexField("spanId", link.span_id());
    json->TextField("traceState", link.trace_state());
    json->KeyValues("attributes", link.attributes());
    json->NumberField("droppedAttributesCount",
                      link.dropped_attributes_count());
    json->NumberField("flags", link.flags());
  });
  json->NumberField("droppedLinksCount", span.dropped_links_count());
  const otlp_schema::Status::Decoder status(span.status());
  json->Key("status");
  json->Open('{');
  json->TextField("message", status.message());
  json->NumberField("code", static_cast<uint64_t>(status.code()));
  json->Close('}');
}

void WriteLog(JsonWriter* json, ConstBytes bytes) {
  const otlp_schema::LogRecord::Decoder log(bytes);
  json->TimeField("timeUnixNano", log.time_unix_nano());
  json->TimeField("observedTimeUnixNano", log.observed_time_unix_nano());
  json->NumberField("severityNumber",
                    static_cast<uint64_t>(log.severity_number()));
  json->TextField("severityText", log.severity_text());
  json->Key("body");
  json->Open('{');
  json->AnyValue(log.body());
  json->Close('}');
  json->KeyValues("attributes", log.attributes());
  json->NumberField("droppedAttributesCount", log.dropped_attributes_count());
  json->NumberField("flags", log.flags());
  json->HexField("traceId", log.trace_id());
  json->HexField("spanId", log.span_id());
  json->TextField("eventName", log.event_name());
}

void WriteScope(JsonWriter* json, ConstBytes bytes) {
  const otlp_schema::InstrumentationScope::Decoder scope(bytes);
  json->Key("scope");
  json->Open('{');
  json->TextField("name", scope.name());
  json->TextField("version", scope.version());
  json->Close('}');
}

// The messages of logs have the same numbers as those of spans.
void WriteResource(JsonWriter* json, ConstBytes bytes, bool is_logs) {
  const otlp_schema::ResourceSpans::Decoder data(bytes);
  const otlp_schema::Resource::Decoder resource(data.resource());
  json->Key("resource");
  json->Open('{');
  json->KeyValues("attributes", resource.attributes());
  json->Close('}');
  json->Array(is_logs ? "scopeLogs" : "scopeSpans", data.scope_spans(),
              [json, is_logs](ConstBytes scope_bytes) {
                const otlp_schema::ScopeSpans::Decoder scope(scope_bytes);
                WriteScope(json, scope.scope());
                json->Array(is_logs ? "logRecords" : "spans", scope.spans(),
                            [json, is_logs](ConstBytes record) {
                              is_logs ? WriteLog(json, record)
                                      : WriteSpan(json, record);
                            });
                json->TextField("schemaUrl", scope.schema_url());
              });
  json->TextField("schemaUrl", data.schema_url());
}

}  // namespace

void AppendJsonLine(const Batch& batch, std::string* line) {
  JsonWriter json(line);
  const bool is_logs = batch.signal == Signal::kLogs;
  const otlp_schema::TracesData::Decoder data(batch.data, batch.size);
  json.Open('{');
  json.Array(is_logs ? "resourceLogs" : "resourceSpans", data.resource_spans(),
             [&json, is_logs](ConstBytes bytes) {
               WriteResource(&json, bytes, is_logs);
             });
  json.Close('}');
  *line += '\n';
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
