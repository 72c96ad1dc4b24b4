// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_file.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "src/pztrace/otlp/otlp_json.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ParseVarInt;
using WireType = protozero::proto_utils::ProtoWireType;

enum class OtlpFraming {
  kNone,
  kOneMessage,
  kAfterVarInt,
  kAfterFourBytes,
};

// The messages that a file has, by the first of their records.
enum class OtlpKind {
  kUnknown,  // None, or one without a time or an id.
  kSpansOrLogs,
  kMetrics,
  kOther,  // These are no messages of OTLP.
};

// A field that a file has, or the first bytes of one that it will have.
struct BegunField {
  uint32_t tag = 0;
  std::string_view content;
};

// Returns the first |size| bytes, or all if there are fewer.
std::string_view AtMost(std::string_view bytes, uint64_t size) {
  return size < bytes.size() ? bytes.substr(0, static_cast<size_t>(size))
                             : bytes;
}

// Takes the first field off |bytes|. False if it is not length-delimited.
bool TakeField(std::string_view* bytes, BegunField* field) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes->data());
  const uint8_t* const end = begin + bytes->size();
  uint64_t tag = 0;
  uint64_t size = 0;
  const uint8_t* const after_tag = ParseVarInt(begin, end, &tag);
  const uint8_t* const after_size = ParseVarInt(after_tag, end, &size);
  if (after_tag == begin || after_size == after_tag || (tag & 7) != 2 ||
      tag > UINT32_MAX)
    return false;
  bytes->remove_prefix(static_cast<size_t>(after_size - begin));
  field->tag = static_cast<uint32_t>(tag);
  field->content = AtMost(*bytes, size);
  bytes->remove_prefix(field->content.size());
  return true;
}

// Tells spans, logs and metrics from other messages, and from each other, by
// the types of their fields. All of a record's beginning may be there, or a
// part.
OtlpKind KindOfRecord(std::string_view record) {
  bool has_time = false;
  bool has_name = false;
  bool has_data = false;
  size_t sizes[3] = {};
  ProtoDecoder decoder(record.data(), record.size());
  while (const Field field = decoder.ReadField()) {
    const bool is_text = field.type() == WireType::kLengthDelimited;
    const bool is_time = field.type() == WireType::kFixed64;
    switch (field.id()) {
      case 1:  // An id, the time of a log, or the name of a metric.
        if (!is_text && !is_time)
          return OtlpKind::kOther;
        has_time = has_time || is_time;
        sizes[1] = is_text ? field.size() : 0;
        break;
      case 2:  // An id, a severity, or a description.
        if (!is_text && field.type() != WireType::kVarInt)
          return OtlpKind::kOther;
        sizes[2] = is_text ? field.size() : 0;
        break;
      case 5:  // A name, the body of a log, or a gauge, which begins with data.
        has_name =
            is_text && field.as_string().ToStdStringView().substr(0, 1) != "\n";
        has_data = has_data || (is_text && !has_name);
        break;
      case 7:   // The beginning of a span, or a sum.
      case 11:  // The time of a log, or a summary.
        has_time = has_time || is_time;
        has_data = has_data || is_text;
        break;
      case 8:  // The end of a span.
        has_time = has_time || is_time;
        break;
      case 9:   // Attributes, or a histogram.
      case 10:  // A number, or a histogram with exponents.
        has_data = has_data || is_text;
        break;
      default:
        break;
    }
  }
  if (has_time || (has_name && sizes[1] == 16 && sizes[2] == 8))
    return OtlpKind::kSpansOrLogs;
  return has_data && sizes[1] != 0 ? OtlpKind::kMetrics : OtlpKind::kUnknown;
}

// Returns the kind of the first record that says it. A message has resources in
// fields 1, of which each has scopes in fields 2, of which each has records in
// fields 2. Packets of a trace look different there.
OtlpKind KindOfMessages(std::string_view message, int level = 0) {
  if (level == 3)
    return KindOfRecord(message);
  const uint32_t inner = level == 0 ? 1 : 2;
  OtlpKind kind = OtlpKind::kUnknown;
  BegunField field;
  while (!message.empty() && kind == OtlpKind::kUnknown) {
    if (!TakeField(&message, &field))
      return OtlpKind::kOther;
    // Beside them, a resource, a scope, and the URL of a schema.
    if (field.tag >> 3 == inner)
      kind = KindOfMessages(field.content, level + 1);
    else if (level == 0 || (field.tag >> 3 != 1 && field.tag >> 3 != 3))
      return OtlpKind::kOther;
  }
  return kind;
}

size_t FourBytes(std::string_view bytes) {
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i)
    size = size << 8 | static_cast<uint8_t>(bytes[i]);
  return size;
}

// Takes the size of the next message off |bytes|. False if it is truncated, or
// is none.
bool TakeSize(OtlpFraming framing, std::string_view* bytes, uint64_t* size) {
  size_t prefix = 4;
  if (framing == OtlpFraming::kAfterVarInt) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(bytes->data());
    prefix = static_cast<size_t>(
        ParseVarInt(begin, begin + bytes->size(), size) - begin);
  } else if (bytes->size() >= 4) {
    *size = FourBytes(*bytes);
    // No message of protobuf is so large: it is a varint of four bytes.
    if (*size > INT32_MAX)
      return false;
  }
  if (prefix == 0 || prefix > bytes->size())
    return false;
  bytes->remove_prefix(prefix);
  return true;
}

OtlpKind KindOfFile(std::string_view begin, OtlpFraming framing) {
  if (framing == OtlpFraming::kOneMessage)
    return KindOfMessages(begin);
  OtlpKind kind = OtlpKind::kUnknown;
  uint64_t size = 0;
  while (kind == OtlpKind::kUnknown && TakeSize(framing, &begin, &size)) {
    const std::string_view message = AtMost(begin, size);
    kind = KindOfMessages(message);
    begin.remove_prefix(message.size());
  }
  return kind;
}

constexpr OtlpFraming kFramings[] = {OtlpFraming::kOneMessage,
                                     OtlpFraming::kAfterFourBytes,
                                     OtlpFraming::kAfterVarInt};

OtlpFraming FramingOf(std::string_view begin) {
  for (const OtlpFraming framing : kFramings) {
    if (KindOfFile(begin, framing) == OtlpKind::kSpansOrLogs)
      return framing;
  }
  return OtlpFraming::kNone;
}

// Some programs begin a text with this mark.
std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(text.substr(0, kMark.size()) == kMark ? kMark.size() : 0);
}

bool IsJsonWith(std::string_view begin,
                std::initializer_list<const char*> names) {
  begin = WithoutByteOrderMark(begin);
  const size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{' &&
         std::any_of(names.begin(), names.end(), [begin](const char* name) {
           return begin.find(name) != std::string_view::npos;
         });
}

bool IsJsonOfOtlp(std::string_view begin) {
  return IsJsonWith(begin, {"\"resourceSpans\"", "\"resourceLogs\"",
                            "\"resource_spans\"", "\"resource_logs\""});
}

// Adds the whole fields of a message. False if that was not all of it.
bool AddFields(std::string_view bytes,
               std::vector<std::string_view>* messages) {
  ProtoDecoder decoder(bytes.data(), bytes.size());
  size_t end = 0;
  while (decoder.ReadField())
    end = decoder.read_offset();
  messages->push_back(bytes.substr(0, end));
  return end == bytes.size();
}

std::string AppendLines(std::string_view text, std::string* message) {
  text = WithoutByteOrderMark(text);
  // All of a file may be one document.
  std::string fault;
  if (AppendOtlpOfJson(text, message, &fault))
    return fault;
  uint64_t line = 0;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    const std::string place = "line " + std::to_string(++line);
    const std::string_view json = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (json.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    // A program that has ended in a line may have been started again.
    std::string fault_of_line;
    if (!AppendOtlpOfJson(json, message, &fault_of_line))
      fault_of_line = " is not JSON, or nests more than " +
                      std::to_string(kMaxOtlpJsonDepth) + " levels";
    else if (!fault_of_line.empty())
      fault_of_line = ": " + fault_of_line;
    if (fault.empty() && !fault_of_line.empty())
      fault = place + fault_of_line;
  }
  return fault;
}

// Adds messages after their sizes.
std::string AddMessages(std::string_view bytes,
                        OtlpFraming framing,
                        std::vector<std::string_view>* messages) {
  const size_t all = bytes.size();
  while (!bytes.empty()) {
    const std::string place = std::to_string(all - bytes.size());
    uint64_t size = 0;
    if (!TakeSize(framing, &bytes, &size) || size > bytes.size())
      return "the file is truncated after byte " + place;
    if (!AddFields(bytes.substr(0, static_cast<size_t>(size)), messages))
      return "the message at byte " + place + " is malformed";
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return "";
}

}  // namespace

bool IsOtlp(std::string_view begin) {
  return IsJsonOfOtlp(begin) || FramingOf(begin) != OtlpFraming::kNone;
}

std::string WhyNotOtlp(std::string_view begin) {
  bool has_metrics =
      IsJsonWith(begin, {"\"resourceMetrics\"", "\"resource_metrics\""});
  for (const OtlpFraming framing : kFramings)
    has_metrics =
        has_metrics || KindOfFile(begin, framing) == OtlpKind::kMetrics;
  return has_metrics
             ? "has metrics of OpenTelemetry: only its spans and logs are read"
             : "";
}

std::string FindOtlpMessages(std::string* content,
                             std::vector<std::string_view>* messages) {
  if (IsJsonOfOtlp(*content)) {
    std::string message;
    std::string problem = AppendLines(*content, &message);
    *content = std::move(message);
    messages->push_back(*content);
    return problem;
  }
  const OtlpFraming framing = FramingOf(*content);
  if (framing != OtlpFraming::kOneMessage)
    return AddMessages(*content, framing, messages);
  return AddFields(*content, messages) ? "" : "the file is truncated";
}

}  // namespace pztrace
