// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/string_filter.h"

#include <inttypes.h>
#include <stdio.h>

#include <algorithm>
#include <random>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/embedded_schema.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ProtoWireType;
using protozero::trace::Trace;
using protozero::trace::TracePacket;

namespace {

// The limit of messages in messages. Deeper ones are left out.
constexpr int kMaxMessageDepth = 100;

std::string_view TextAt(const uint8_t* begin, size_t size) {
  return {reinterpret_cast<const char*>(begin), size};
}

void AppendNumber(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7)
    bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

void AppendField(uint32_t id, std::string_view content, std::string* bytes) {
  AppendNumber(uint64_t{id} << 3 | 2, bytes);
  AppendNumber(content.size(), bytes);
  *bytes += content;
}

// Returns whether the field is text. Interned texts are bytes in the schema.
bool IsText(const pbz::MessageType& type, const pbz::FieldType& field) {
  return field.type == pbz::SchemaType::kString ||
         (field.type == pbz::SchemaType::kBytes &&
          type.full_name == "perfetto.protos.InternedString");
}

KeyedHash::Key RandomKey() {
  std::random_device random;
  const auto word = [&random] { return uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

std::vector<TextPattern> Compile(const std::vector<std::string>& patterns) {
  return std::vector<TextPattern>(patterns.begin(), patterns.end());
}

bool IsAnyIn(const std::vector<TextPattern>& patterns, std::string_view text) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [text](const TextPattern& pattern) { return pattern.IsIn(text); });
}

}  // namespace

TextPattern::TextPattern(std::string_view pattern) {
  while (!pattern.empty()) {
    const size_t size = std::min(pattern.find('*'), pattern.size());
    if (size != 0)
      parts_.emplace_back(pattern.substr(0, size));
    pattern.remove_prefix(std::min(size + 1, pattern.size()));
  }
}

bool TextPattern::IsIn(std::string_view text) const {
  size_t begin = 0;
  for (const std::string& part : parts_) {
    const size_t found = text.find(part, begin);
    if (found == std::string_view::npos)
      return false;
    begin = found + part.size();
  }
  return true;
}

bool StringFilter::IsAvailable() {
  if (pbz::kTraceSchema.size != 0)
    return true;
  program::PrintError(kProgram,
                      "this build of it has no schema of traces, for it was "
                      "made without protoc; strings cannot be found");
  return false;
}

bool StringFilter::Make(const Patterns& patterns,
                        std::optional<StringFilter>* filter) {
  if (patterns.are_empty())
    return true;
  if (!IsAvailable())
    return false;
  filter->emplace(patterns);
  return true;
}

StringFilter::StringFilter(const Patterns& patterns)
    : dropped_(Compile(patterns.dropped)),
      hashed_(Compile(patterns.hashed)),
      packet_type_(
          schema_.Type()->FindField(Trace::kPacketFieldNumber)->message),
      hash_(RandomKey()) {}

bool StringFilter::HasPattern(std::string_view text) const {
  return IsAnyIn(dropped_, text) || IsAnyIn(hashed_, text);
}

std::string StringFilter::Replacement(std::string_view text) const {
  if (IsAnyIn(dropped_, text))
    return "";
  char hash[20];
  snprintf(hash, sizeof(hash), "#%016" PRIx64, hash_(text));
  // A short pattern may be in the hash.
  return HasPattern(hash) ? "" : hash;
}

void StringFilter::Filter(ConstBytes packets, std::string* filtered) const {
  FilterFields(packets, /*is_inside=*/false, filtered);
}

void StringFilter::FilterFields(ConstBytes packets,
                                bool is_inside,
                                std::string* filtered) const {
  ProtoDecoder decoder(packets);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const size_t end = decoder.read_offset();
    const std::string_view bytes = TextAt(packets.data + begin, end - begin);
    begin = end;
    if (field.id() == Trace::kPacketFieldNumber &&
        field.type() == ProtoWireType::kLengthDelimited) {
      FilterPacket(field.as_bytes(), bytes, is_inside, filtered);
    } else if (!HasPattern(bytes)) {
      *filtered += bytes;
    }
  }
}

void StringFilter::FilterPacket(ConstBytes packet,
                                std::string_view field,
                                bool is_inside,
                                std::string* filtered) const {
  bool is_compressed = false;
  ProtoDecoder decoder(packet);
  for (Field part = decoder.ReadField(); part; part = decoder.ReadField()) {
    const Codec* const codec = CodecOfField(part.id());
    if (codec == nullptr)
      continue;
    std::string packets;
    // Decompresses only once: such packets may be compressed again, without an
    // end.
    if (!is_compressed && !is_inside &&
        Decompress(*codec, part.as_bytes(), kMaxDecompressed, &packets)
            .empty()) {
      FilterFields(
          {reinterpret_cast<const uint8_t*>(packets.data()), packets.size()},
          /*is_inside=*/true, filtered);
    }
    is_compressed = true;
  }
  // Readers use nothing else of a compressed packet.
  if (is_compressed)
    return;
  if (!HasPattern(TextAt(packet.data, packet.size))) {
    *filtered += field;
    return;
  }
  std::string changed;
  FilterMessage(packet, packet_type_, 0, &changed);
  AppendField(Trace::kPacketFieldNumber, changed, filtered);
}

void StringFilter::FilterMessage(ConstBytes message,
                                 const pbz::MessageType* type,
                                 int depth,
                                 std::string* filtered) const {
  ProtoDecoder decoder(message);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const size_t end = decoder.read_offset();
    const std::string_view bytes = TextAt(message.data + begin, end - begin);
    begin = end;
    if (field.type() == ProtoWireType::kStartGroup) {
      if (!HasPattern(bytes))
        *filtered += bytes;
      continue;
    }
    const std::string_view content =
        field.type() == ProtoWireType::kLengthDelimited
            ? TextAt(field.data(), field.size())
            : std::string_view();
    if (field.type() != ProtoWireType::kLengthDelimited ||
        !HasPattern(content)) {
      *filtered += bytes;
      continue;
    }
    const pbz::FieldType* const known =
        type == nullptr ? nullptr : type->FindField(field.id());
    if (known == nullptr)
      continue;
    if (IsText(*type, *known)) {
      AppendField(field.id(), Replacement(content), filtered);
    } else if (known->type == pbz::SchemaType::kMessage &&
               depth < kMaxMessageDepth) {
      std::string changed;
      FilterMessage(field.as_bytes(), known->message, depth + 1, &changed);
      AppendField(field.id(), changed, filtered);
    }
  }
}

}  // namespace pztrace
