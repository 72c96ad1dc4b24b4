// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/trace_addresses.h"

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/trace_file/mapping_path.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;
using protozero::ConstBytes;

// The limit of addresses that names are looked for.
constexpr size_t kMaxTraceAddresses = 1 << 20;

}  // namespace

void TraceAddresses::Read(ConstBytes packets) {
  protozero::ProtoDecoder decoder(packets);
  while (const protozero::Field field = decoder.ReadField()) {
    if (field.id() == trace::Trace::kPacketFieldNumber &&
        field.type() == protozero::proto_utils::ProtoWireType::kLengthDelimited)
      ReadPacket(field.as_bytes());
  }
}

void TraceAddresses::ReadPacket(ConstBytes bytes) {
  const trace::TracePacket::Decoder packet(bytes);
  if (packet.has_module_symbols())
    ReadSymbols(packet.module_symbols());
  Sequence& sequence = sequences_[packet.trusted_packet_sequence_id()];
  if ((packet.sequence_flags() &
       trace::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0) {
    sequence = Sequence();
  }
  if (packet.has_interned_data())
    ReadInterned(packet.interned_data(), &sequence);
}

void TraceAddresses::ReadInterned(ConstBytes bytes, Sequence* sequence) {
  const trace::InternedData::Decoder data(bytes);
  for (const ConstBytes entry : data.mapping_paths()) {
    const trace::InternedString::Decoder string(entry);
    sequence->paths[string.iid()] = string.str().ToStdString();
  }
  for (const ConstBytes entry : data.build_ids()) {
    const trace::InternedString::Decoder string(entry);
    sequence->build_ids[string.iid()] = string.str().ToStdString();
  }
  for (const ConstBytes entry : data.mappings()) {
    const trace::Mapping::Decoder mapping(entry);
    File& file = sequence->mappings[mapping.iid()];
    file = {};
    for (const uint64_t part : mapping.path_string_ids())
      AppendPathPart(sequence->paths[part], &file.first);
    if (mapping.build_id() != 0)
      file.second = sequence->build_ids[mapping.build_id()];
  }
  for (const ConstBytes entry : data.frames()) {
    const trace::Frame::Decoder frame(entry);
    const auto file = sequence->mappings.find(frame.mapping_id());
    if (frame.function_name_id() == 0 && file != sequence->mappings.end() &&
        !file->second.first.empty() && frame.kind() != trace::Frame::KIND_JIT &&
        num_addresses_ < kMaxTraceAddresses) {
      num_addresses_ += addresses_[file->second].insert(frame.rel_pc()).second;
    }
  }
}

void TraceAddresses::ReadSymbols(ConstBytes bytes) {
  const trace::ModuleSymbols::Decoder symbols(bytes);
  std::set<uint64_t>& named =
      named_[{symbols.path().ToStdString(), symbols.build_id().ToStdString()}];
  for (const ConstBytes entry : symbols.address_symbols())
    named.insert(trace::AddressSymbols::Decoder(entry).address());
}

AddressesOfFiles TraceAddresses::Take() {
  for (const auto& [file, named] : named_) {
    const auto it = addresses_.find(file);
    if (it == addresses_.end())
      continue;
    for (const uint64_t address : named)
      it->second.erase(address);
    if (it->second.empty())
      addresses_.erase(it);
  }
  sequences_.clear();
  named_.clear();
  num_addresses_ = 0;
  return std::exchange(addresses_, {});
}

}  // namespace pztrace
