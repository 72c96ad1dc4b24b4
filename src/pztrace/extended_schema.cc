// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/extended_schema.h"

#include <stdlib.h>

#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/program_io.h"
#include "src/pztrace/embedded_schema.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::ProtoDecoder;
using protozero::trace::ExtensionDescriptor;
using protozero::trace::Trace;
using protozero::trace::TracePacket;

ExtendedSchema::ExtendedSchema() : bytes_(kTraceSchema.ToStdString()) {
  std::string error;
  schemas_.push_back(pbz::Schema::Parse(kTraceSchema, &error));
  if (schemas_.back() == nullptr) {
    pbz::PrintError(kProgram, "%s", error.c_str());
    abort();
  }
  trace_ = schemas_.back()->FindMessage("perfetto.protos.Trace");
}

void ExtendedSchema::AddFrom(ConstBytes packets) {
  ProtoDecoder trace(packets);
  for (auto packet = trace.ReadField(); packet.valid();
       packet = trace.ReadField()) {
    if (packet.id() != Trace::kPacketFieldNumber)
      continue;
    const ConstBytes set =
        ProtoDecoder(
            ProtoDecoder(packet.as_bytes())
                .FindField(TracePacket::kExtensionDescriptorFieldNumber)
                .as_bytes())
            .FindField(ExtensionDescriptor::kExtensionSetFieldNumber)
            .as_bytes();
    if (set.size != 0)
      Add(set.ToStdString());
  }
}

void ExtendedSchema::Add(const std::string& descriptor_set) {
  if (seen_.count(descriptor_set) != 0)
    return;
  if (seen_.size() == kMaxDescriptions ||
      descriptor_set.size() > kMaxBytes - seen_bytes_) {
    has_more_ = true;
    return;
  }
  seen_.insert(descriptor_set);
  seen_bytes_ += descriptor_set.size();
  // Of two types of one name, and of two fields of one number, the first one
  // counts: those of the schema.
  std::string bytes = bytes_ + descriptor_set;
  std::string unused;
  std::unique_ptr<pbz::Schema> schema = pbz::Schema::Parse(
      ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
      &unused);
  if (schema == nullptr) {
    rejected_.insert(descriptor_set);
    return;
  }
  bytes_ = std::move(bytes);
  trace_ = schema->FindMessage("perfetto.protos.Trace");
  schemas_.push_back(std::move(schema));
}

void ExtendedSchema::ReportRejected() const {
  if (!rejected_.empty()) {
    pbz::PrintError(kProgram,
                    "%zu descriptions of extensions are malformed; the fields "
                    "are shown by their numbers",
                    rejected_.size());
  }
  if (has_more_) {
    pbz::PrintError(kProgram,
                    "some descriptions of extensions are not read, for there "
                    "are too many, or they are too large");
  }
}

}  // namespace pztrace
