// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/decode_harness.h"

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>

#include "test/benchmarks/decoder.h"

namespace protozero {
namespace bench {

namespace {

// Returns the messages that all rows of the workload share.
const EncodedMessages& SharedMessages(const DecodeWorkload& workload) {
  static std::map<std::string, std::unique_ptr<EncodedMessages>> shared;
  std::unique_ptr<EncodedMessages>& messages =
      shared[workload.name + workload.suffix];
  if (!messages)
    messages = workload.make_messages(workload);
  return *messages;
}

void Run(::benchmark::State& state,
         const DecodeWorkload& workload,
         const DecoderEntry& entry) {
  const std::unique_ptr<Decoder> decoder = entry.create();
  const EncodedMessages& messages = SharedMessages(workload);
  // The test of the iteration count takes no measurable time, as with encoders.
  const size_t mean_size = messages.bytes() / messages.size();
  const size_t batch_size = mean_size < 4096 ? 64 : 1;
  size_t first = 0;
  while (state.KeepRunningBatch(static_cast<int64_t>(batch_size))) {
    uint64_t sum = decoder->DecodeBatch(messages, first, batch_size);
    ::benchmark::DoNotOptimize(sum);
    first += batch_size;
  }
  state.counters["bytes"] = static_cast<double>(mean_size);
}

}  // namespace

void RegisterDecodeBenchmarks() {
  const DecoderList decoders = AllDecoders();
  for (const DecodeWorkload& workload : AllDecodeWorkloads()) {
    for (const DecoderEntry& entry : decoders) {
      if (entry.workload != workload.name)
        continue;
      const std::string name = "BM_ProtoDecoder_" + workload.name + "_" +
                               entry.implementation + workload.suffix;
      ::benchmark::RegisterBenchmark(
          name.c_str(), [workload, entry](::benchmark::State& state) {
            Run(state, workload, entry);
          });
    }
  }
}

}  // namespace bench
}  // namespace protozero
