// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/extended_schema.h"

#include <stdint.h>

#include <utility>
#include <vector>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/embedded_schema.h"
#include "src/program/io.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ProtoSchemaToWireType;
using protozero::proto_utils::ProtoWireType;

// Field ids of include/protozero/tracing/trace.proto. They are repeated here
// because this program is also built without the plugin.
enum : uint32_t {
  kPacket = 1,  // A field of Trace.
  kPacketTag =
      kPacket << 3 | static_cast<uint32_t>(ProtoWireType::kLengthDelimited),
  kPacketTimestamp = 8,
  kPacketSequenceId = 10,
  kPacketExtensionDescriptor = 72,
  kDescriptorExtensionSet = 1,
};

// Returns whether the fields of |packet| that |type| knows have its types. Sets
// |is_marked| if the packet has a field that nearly every packet has.
bool Fits(ConstBytes packet, const MessageType& type, bool* is_marked) {
  ProtoDecoder decoder(packet);
  for (Field f = decoder.ReadField(); f.valid(); f = decoder.ReadField()) {
    const FieldType* const field = type.FindField(f.id());
    if (field == nullptr)
      continue;
    if (ProtoSchemaToWireType(field->type) != f.type())
      return false;
    *is_marked |= f.id() == kPacketTimestamp || f.id() == kPacketSequenceId ||
                  f.id() == kPacketExtensionDescriptor;
  }
  return decoder.status() == protozero::DecodeStatus::kOk;
}

std::unique_ptr<Schema> ParseSet(const std::string& descriptor_set) {
  std::string unused;
  return Schema::Parse(
      ConstBytes(reinterpret_cast<const uint8_t*>(descriptor_set.data()),
                 descriptor_set.size()),
      &unused);
}

}  // namespace

bool ExtendedSchema::IsAvailable(const char* program) {
  if (kTraceSchema.size != 0)
    return true;
  program::PrintError(
      program,
      "this build of it has no schema of traces, for it was made "
      "without protoc; give --schema FILE");
  return false;
}

ExtendedSchema::ExtendedSchema() : bytes_(kTraceSchema.ToStdString()) {
  schema_ = ParseSet(bytes_);
}

bool ExtendedSchema::IsTrace(const char* program,
                             const char* file,
                             ConstBytes begin) const {
  if (AreTrace(begin))
    return true;
  program::PrintError(
      program,
      "%s is not a trace, and has no descriptors of its own; give "
      "--schema FILE",
      file);
  return false;
}

bool ExtendedSchema::AreTrace(ConstBytes begin) const {
  const MessageType& type =
      *schema_->FindMessage("perfetto.protos.TracePacket");
  size_t num_packets = 0;
  size_t num_others = 0;
  bool is_marked = false;
  ProtoDecoder trace(begin);
  for (Field f = trace.ReadField(); f.valid(); f = trace.ReadField()) {
    if (f.id() != kPacket || f.type() != ProtoWireType::kLengthDelimited)
      return false;
    ++(Fits(f.as_bytes(), type, &is_marked) ? num_packets : num_others);
  }
  // If the first packet is large, |begin| has only a part of it.
  if (num_packets + num_others == 0)
    return begin.size == 0 || begin.data[0] == kPacketTag;
  // A few packets of a trace may be damaged.
  return is_marked && num_packets > num_others;
}

bool ExtendedSchema::ReadAhead(FieldStream* stream) {
  if (!stream->Restart())
    return false;
  FieldStream::Run run;
  while (stream->Next(&run))
    AddFrom(ConstBytes(run.data, run.size));
  has_read_ahead_ = stream->Restart();
  return has_read_ahead_;
}

void ExtendedSchema::AddFrom(ConstBytes packets) {
  ProtoDecoder trace(packets);
  for (Field packet = trace.ReadField(); packet.valid();
       packet = trace.ReadField()) {
    if (packet.id() != kPacket)
      continue;
    Add(ProtoDecoder(packet.as_bytes())
            .FindField(kPacketExtensionDescriptor)
            .as_bytes());
  }
}

void ExtendedSchema::Add(ConstBytes extension_descriptor) {
  const ConstBytes set = ProtoDecoder(extension_descriptor)
                             .FindField(kDescriptorExtensionSet)
                             .as_bytes();
  if (set.size != 0)
    AddSet(set.ToStdString());
}

const MessageType* ExtendedSchema::TypeOf(ConstBytes packets) {
  if (!has_read_ahead_)
    AddFrom(packets);
  return Type();
}

const MessageType* ExtendedSchema::Type() {
  if (has_new_) {
    has_new_ = false;
    if (std::unique_ptr<Schema> schema = ParseSet(bytes_))
      schema_ = std::move(schema);
    else
      has_more_ = true;
  }
  return schema_->FindMessage("perfetto.protos.Trace");
}

const MessageType* ExtendedSchema::FindMessage(std::string_view name) const {
  return schema_->FindMessage(name);
}

void ExtendedSchema::AddSet(const std::string& descriptor_set) {
  if (seen_.count(descriptor_set) != 0)
    return;
  if (seen_.size() == kMaxDescriptions ||
      descriptor_set.size() > kMaxBytes - seen_bytes_) {
    has_more_ = true;
    return;
  }
  seen_.insert(descriptor_set);
  seen_bytes_ += descriptor_set.size();
  // Each set is parsed alone first, because a malformed one would spoil the
  // others.
  if (ParseSet(kTraceSchema.ToStdString() + descriptor_set) == nullptr) {
    ++num_malformed_;
    return;
  }
  bytes_ += descriptor_set;
  has_new_ = true;
}

void ExtendedSchema::ReportUnused(const char* program, const char* file) const {
  if (num_malformed_ != 0) {
    program::PrintError(
        program,
        "%s: %s of extensions %s malformed; the fields are shown by "
        "their numbers",
        file, program::CountOf(num_malformed_, "description").c_str(),
        num_malformed_ == 1 ? "is" : "are");
  }
  const size_t num_conflicts = schema_->num_conflicts();
  if (num_conflicts != 0) {
    program::PrintError(
        program,
        "%s: %s described again, differently (%s%s); the first "
        "description counts",
        file,
        num_conflicts == 1
            ? "1 field or value is"
            : (std::to_string(num_conflicts) + " fields and values are")
                  .c_str(),
        schema_->first_conflict().c_str(), num_conflicts == 1 ? "" : ", ...");
  }
  if (has_more_) {
    program::PrintError(
        program,
        "%s: some descriptions of extensions are not read, for there "
        "are too many, or they are too large",
        file);
  }
}

}  // namespace pbz
