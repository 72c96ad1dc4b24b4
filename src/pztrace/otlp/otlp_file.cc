// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_file.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>

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

// A field that a file has, or the first bytes of one that it will have.
struct BegunField {
  uint32_t tag = 0;
  std::string_view content;
};

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
  field->content = bytes->substr(0, size);
  bytes->remove_prefix(field->content.size());
  return true;
}

constexpr uint32_t kTag1 = 1 << 3 | 2;
constexpr uint32_t kTag2 = 2 << 3 | 2;

// Returns whether the beginning of a record has what only a span or a log has
// there: an id of the right size, or a time of eight bytes.
bool IsRecord(std::string_view record) {
  ProtoDecoder decoder(record.data(), record.size());
  while (const Field field = decoder.ReadField()) {
    const bool is_id = field.type() == WireType::kLengthDelimited &&
                       ((field.id() == 1 && field.size() == 16) ||
                        (field.id() == 2 && field.size() == 8));
    const bool is_time = field.type() == WireType::kFixed64 &&
                         (field.id() == 1 || field.id() == 11);
    if (is_id || is_time)
      return true;
  }
  return false;
}

// Returns whether |message| begins with a ResourceSpans or ResourceLogs of
// which the first record is one. Packets of a trace look different there: a
// field 1 of theirs has no messages.
bool BeginsWithRecord(std::string_view message) {
  BegunField resource;
  if (!TakeField(&message, &resource) || resource.tag != kTag1)
    return false;
  BegunField scope;
  do {
    if (!TakeField(&resource.content, &scope))
      return false;
  } while (scope.tag != kTag2);
  BegunField record;
  do {
    if (!TakeField(&scope.content, &record))
      return false;
  } while (record.tag != kTag2);
  return IsRecord(record.content);
}

size_t FourBytes(std::string_view bytes) {
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i)
    size = size << 8 | static_cast<uint8_t>(bytes[i]);
  return size;
}

OtlpFraming FramingOf(std::string_view begin) {
  if (BeginsWithRecord(begin))
    return OtlpFraming::kOneMessage;
  if (begin.size() > 4 && BeginsWithRecord(begin.substr(4)) &&
      FourBytes(begin) != 0)
    return OtlpFraming::kAfterFourBytes;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(begin.data());
  uint64_t size = 0;
  const uint8_t* const after = ParseVarInt(bytes, bytes + begin.size(), &size);
  if (after != bytes &&
      BeginsWithRecord(begin.substr(static_cast<size_t>(after - bytes))))
    return OtlpFraming::kAfterVarInt;
  return OtlpFraming::kNone;
}

bool IsJsonOfOtlp(std::string_view begin) {
  const size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || begin[first] != '{')
    return false;
  for (const char* name : {"\"resourceSpans\"", "\"resourceLogs\"",
                           "\"resource_spans\"", "\"resource_logs\""}) {
    if (begin.find(name) != std::string_view::npos)
      return true;
  }
  return false;
}

// Appends the whole fields of a message. False if that was not all of it.
bool AppendFields(std::string_view bytes, std::string* message) {
  ProtoDecoder decoder(bytes.data(), bytes.size());
  size_t end = 0;
  while (decoder.ReadField())
    end = decoder.read_offset();
  message->append(bytes.substr(0, end));
  return end == bytes.size();
}

std::string AppendLines(std::string_view text, std::string* message) {
  // All of a file may be one document.
  if (AppendOtlpOfJson(text, message))
    return "";
  uint64_t line = 0;
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    ++line;
    const std::string_view json = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (json.find_first_not_of(" \t\r") != std::string_view::npos &&
        !AppendOtlpOfJson(json, message))
      return "line " + std::to_string(line) +
             " is not JSON, or nests more than " +
             std::to_string(kMaxOtlpJsonDepth) + " levels";
  }
  return "";
}

// Appends messages after their sizes.
std::string AppendMessages(std::string_view bytes,
                           OtlpFraming framing,
                           std::string* message) {
  const size_t all = bytes.size();
  while (!bytes.empty()) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
    uint64_t size = 0;
    size_t prefix = 4;
    if (framing == OtlpFraming::kAfterVarInt) {
      prefix = static_cast<size_t>(
          ParseVarInt(begin, begin + bytes.size(), &size) - begin);
    } else if (bytes.size() >= 4) {
      size = FourBytes(bytes);
    }
    const std::string place = std::to_string(all - bytes.size());
    if (prefix == 0 || prefix > bytes.size() || size > bytes.size() - prefix)
      return "the file is truncated after byte " + place;
    if (!AppendFields(bytes.substr(prefix, static_cast<size_t>(size)), message))
      return "the message at byte " + place + " is malformed";
    bytes.remove_prefix(prefix + static_cast<size_t>(size));
  }
  return "";
}

}  // namespace

bool IsOtlp(std::string_view begin) {
  return IsJsonOfOtlp(begin) || FramingOf(begin) != OtlpFraming::kNone;
}

std::string AppendOtlpOfFile(std::string_view bytes, std::string* message) {
  if (IsJsonOfOtlp(bytes))
    return AppendLines(bytes, message);
  const OtlpFraming framing = FramingOf(bytes);
  if (framing != OtlpFraming::kOneMessage)
    return AppendMessages(bytes, framing, message);
  return AppendFields(bytes, message) ? "" : "the file is truncated";
}

}  // namespace pztrace
