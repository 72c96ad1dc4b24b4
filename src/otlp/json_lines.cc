// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/json_lines.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "src/otlp/protos/json_schema.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {
namespace {

using WireType = proto_utils::ProtoWireType;

// Messages within each other that are written. Deeper ones are empty.
constexpr int kMaxJsonDepth = 100;

// Writes the JSON of messages. Fields with default values are left out, but the
// value of an attribute and its key are not.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  // Writes the object of a message.
  void Message(ConstBytes bytes, JsonKind kind);
  // Writes a member for the field of a message, unless it is a default value
  // and not |writes_defaults|.
  void Member(ConstBytes bytes, const JsonField& field, bool writes_defaults);
  void Open(char bracket) {
    *out_ += bracket;
    is_first_ = true;
  }
  void Close(char bracket) {
    *out_ += bracket;
    is_first_ = false;
  }

 private:
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
  void Messages(ConstBytes bytes, const JsonField& field);
  void Scalar(const Field& field, JsonType type);
  void Hex(ConstBytes bytes);
  void Base64(ConstBytes bytes);
  void Double(double value);
  void Quoted(std::string_view text);

  std::string* const out_;
  bool is_first_ = true;
  int depth_ = 0;
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

WireType WireTypeOf(JsonType type) {
  switch (type) {
    case JsonType::kBool:
    case JsonType::kUint32:
    case JsonType::kInt64:
      return WireType::kVarInt;
    case JsonType::kFixed32:
      return WireType::kFixed32;
    case JsonType::kFixed64:
    case JsonType::kDouble:
      return WireType::kFixed64;
    case JsonType::kText:
    case JsonType::kHexadecimal:
    case JsonType::kBase64:
    case JsonType::kMessage:
    case JsonType::kMessages:
      break;
  }
  return WireType::kLengthDelimited;
}

bool IsField(const Field& field, const JsonField& wanted) {
  return field.id() == wanted.number && field.type() == WireTypeOf(wanted.type);
}

// Returns the last field of that kind, which counts; an invalid one for none.
Field LastField(ConstBytes bytes, const JsonField& wanted) {
  Field last = Field();
  ProtoDecoder decoder(bytes);
  while (const Field field = decoder.ReadField()) {
    if (IsField(field, wanted))
      last = field;
  }
  return last;
}

// Returns the kind of the value that was set last; null for none.
const JsonField* FieldOfAnyValue(ConstBytes bytes) {
  const JsonField* last = nullptr;
  ProtoDecoder decoder(bytes);
  while (const Field field = decoder.ReadField()) {
    for (const JsonField& kind : JsonMessageOf(JsonKind::kAnyValue)) {
      if (IsField(field, kind))
        last = &kind;
    }
  }
  return last;
}

void JsonWriter::Message(ConstBytes bytes, JsonKind kind) {
  Comma();
  Open('{');
  ++depth_;
  if (depth_ > kMaxJsonDepth) {
    // Nothing: it is empty.
  } else if (kind == JsonKind::kAnyValue) {
    if (const JsonField* const field = FieldOfAnyValue(bytes))
      Member(bytes, *field, /*writes_defaults=*/true);
  } else {
    for (const JsonField& field : JsonMessageOf(kind))
      Member(bytes, field, kind == JsonKind::kKeyValue);
  }
  --depth_;
  Close('}');
}

void JsonWriter::Member(ConstBytes bytes,
                        const JsonField& field,
                        bool writes_defaults) {
  if (field.type == JsonType::kMessages)
    return Messages(bytes, field);
  const Field last = LastField(bytes, field);
  // A message that is there is no default, even an empty one.
  bool is_default = !last.valid();
  if (field.type != JsonType::kMessage) {
    is_default = WireTypeOf(field.type) == WireType::kLengthDelimited
                     ? last.size() == 0
                     : last.as_uint64() == 0;
  }
  if (is_default && !writes_defaults)
    return;
  Key(field.name);
  if (field.type == JsonType::kMessage)
    Message(last.as_bytes(), field.message);
  else
    Scalar(last, field.type);
}

void JsonWriter::Messages(ConstBytes bytes, const JsonField& wanted) {
  bool has_begun = false;
  ProtoDecoder decoder(bytes);
  while (const Field field = decoder.ReadField()) {
    if (!IsField(field, wanted))
      continue;
    if (!has_begun) {
      Key(wanted.name);
      Open('[');
      has_begun = true;
    }
    Message(field.as_bytes(), wanted.message);
  }
  if (has_begun)
    Close(']');
}

void JsonWriter::Scalar(const Field& field, JsonType type) {
  switch (type) {
    case JsonType::kText:
      return Quoted(field.as_string().ToStdStringView());
    case JsonType::kHexadecimal:
      return Hex(field.as_bytes());
    case JsonType::kBase64:
      return Base64(field.as_bytes());
    case JsonType::kBool:
      return Value(field.as_bool() ? "true" : "false");
    case JsonType::kUint32:
    case JsonType::kFixed32:
      return Value(std::to_string(field.as_uint32()));
    case JsonType::kInt64:
      return Quoted(std::to_string(field.as_int64()));
    case JsonType::kFixed64:
      return Quoted(std::to_string(field.as_uint64()));
    case JsonType::kDouble:
      return Double(field.as_double());
    case JsonType::kMessage:
    case JsonType::kMessages:
      return;
  }
}

}  // namespace

void AppendJsonLine(const Batch& batch, std::string* line) {
  JsonWriter json(line);
  json.Open('{');
  json.Member({batch.data, batch.size},
              kJsonDocument[batch.signal == Signal::kLogs ? 1 : 0],
              /*writes_defaults=*/false);
  json.Close('}');
  *line += '\n';
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
