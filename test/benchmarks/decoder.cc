// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/decoder.h"

#include <algorithm>
#include <random>
#include <utility>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/workload.h"

namespace protozero {
namespace bench {

namespace {

// Returns the messages of the workload of the same name, as libprotobuf encodes
// them: each size and each number takes as few bytes as possible.
std::unique_ptr<EncodedMessages> Encode(const DecodeWorkload& decode_workload) {
  // More messages would not fit into the second-level cache.
  constexpr size_t kMaxMessages = 16384;
  constexpr size_t kMaxBytes = 1024 * 1024;
  for (const Workload& workload : AllWorkloads(nullptr)) {
    if (workload.name != decode_workload.name)
      continue;
    for (const EncoderEntry& entry : AllEncoders()) {
      if (entry.workload != workload.name ||
          entry.implementation != "Libprotobuf") {
        continue;
      }
      const auto encoder = entry.create();
      const auto inputs =
          workload.make_inputs(decode_workload.suffix == "_Random");
      std::vector<uint8_t> buffer(workload.slot_size);
      std::vector<uint8_t> bytes;
      std::vector<size_t> sizes;
      const size_t limit = std::min(inputs->size(), kMaxMessages);
      for (size_t count = 1; count <= limit && bytes.size() < kMaxBytes / 2;
           count *= 2) {
        while (sizes.size() < count) {
          const size_t size = encoder->Encode(*inputs, sizes.size(),
                                              buffer.data(), buffer.size());
          bytes.insert(bytes.end(), buffer.begin(),
                       buffer.begin() + static_cast<ptrdiff_t>(size));
          sizes.push_back(size);
        }
      }
      return std::make_unique<EncodedMessages>(std::move(bytes), sizes);
    }
  }
  return nullptr;
}

std::unique_ptr<EncodedMessages> EncodeTrace(const DecodeWorkload&) {
  const std::string trace = MakeTrace(10 * 1000 * 1000);
  return std::make_unique<EncodedMessages>(
      std::vector<uint8_t>(trace.begin(), trace.end()),
      std::vector<size_t>{trace.size()});
}

}  // namespace

EncodedMessages::EncodedMessages(std::vector<uint8_t> bytes,
                                 const std::vector<size_t>& sizes)
    : bytes_(std::move(bytes)) {
  const uint8_t* data = bytes_.data();
  for (const size_t size : sizes) {
    views_.push_back({data, size});
    data += size;
  }
}

std::vector<DecodeWorkload> AllDecodeWorkloads() {
  return {
      {"Simple", "", Encode},        {"Simple", "_Random", Encode},
      {"Nested", "", Encode},        {"Nested", "_Random", Encode},
      {"ThirtyFields", "", Encode},  {"Children", "", Encode},
      {"PackedVarints", "", Encode}, {"Trace10MB", "", EncodeTrace},
  };
}

Decoder::~Decoder() = default;

DecoderList AllDecoders() {
  DecoderList decoders;
  AddProtozeroDecoders(&decoders);
  AddLibprotobufDecoders(&decoders);
  AddMapboxDecoders(&decoders);
  return decoders;
}

}  // namespace bench
}  // namespace protozero
