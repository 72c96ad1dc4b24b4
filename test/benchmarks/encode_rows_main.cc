// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// encode_rows: encodes a given number of messages with a given row of the
// benchmark, and nothing else. tools/measure_instructions runs it twice under
// callgrind: the difference between two runs is the cost of the messages that
// one run has more.
//
//   encode_rows --list                       a line per row
//   encode_rows --build                      compiler and kind of build
//   encode_rows ROW constant|random COUNT    prints how many bytes it wrote
//
// If a workload has inputs of one kind only, both are the same. Rows of events
// have no inputs and print 0. Some of them write events, others read them, or
// collect their packets. Those of levels print 0, too.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/event_rows.h"
#include "test/benchmarks/input_cycle.h"
#include "test/benchmarks/level_rows.h"
#include "test/benchmarks/otlp_rows.h"
#include "test/benchmarks/output_ring.h"
#include "test/benchmarks/read_rows.h"
#include "test/benchmarks/service_rows.h"
#include "test/benchmarks/workload.h"

namespace {

using protozero::bench::AnyInputCycle;
using protozero::bench::Batch;
using protozero::bench::Encoder;
using protozero::bench::EncoderEntry;
using protozero::bench::EventRow;
using protozero::bench::OutputRing;
using protozero::bench::Workload;

struct Row {
  std::string name;
  Workload workload;
  EncoderEntry encoder;
};

// Returns all rows that need no trace, as the benchmark calls them, but without
// its harness.
std::vector<Row> AllRows() {
  std::vector<Row> rows;
  const auto encoders = protozero::bench::AllEncoders();
  for (const Workload& workload : protozero::bench::AllWorkloads(nullptr)) {
    for (const EncoderEntry& encoder : encoders) {
      if (encoder.workload == workload.name) {
        rows.push_back(
            {workload.name + "_" + encoder.implementation + workload.argument,
             workload, encoder});
      }
    }
  }
  return rows;
}

void PrintBuild() {
#if defined(__clang__)
  printf("clang %s", __clang_version__);
#else
  printf("gcc %s", __VERSION__);
#endif
#if defined(__OPTIMIZE_SIZE__)
  printf(", optimized for size");
#elif defined(__OPTIMIZE__)
  printf(", optimized");
#else
  printf(", not optimized");
#endif
#if !defined(NDEBUG)
  printf(", with debug checks");
#endif
  printf("\n");
}

int Usage() {
  fprintf(stderr,
          "usage: encode_rows --list\n"
          "       encode_rows --build\n"
          "       encode_rows ROW constant|random COUNT\n");
  return 2;
}

size_t Encode(const Row& row, bool random, size_t count) {
  const std::unique_ptr<Encoder> encoder = row.encoder.create();
  const std::unique_ptr<AnyInputCycle> inputs =
      row.workload.make_inputs(random);
  const size_t slot_size = row.workload.slot_size;
  OutputRing ring(std::max(protozero::bench::kL1Harness.ring_size, slot_size),
                  slot_size);
  Batch batch = {};
  batch.inputs = inputs.get();
  batch.ring = &ring;
  batch.slot_size = slot_size;
  batch.count = count;
  return encoder->EncodeBatch(batch);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--build") {
    PrintBuild();
    return 0;
  }
  const std::vector<Row> rows = AllRows();
  std::vector<EventRow> event_rows = protozero::bench::AllEventRows();
  for (const EventRow& row : protozero::bench::AllLevelRows())
    event_rows.push_back(row);
  for (const EventRow& row : protozero::bench::AllOtlpRows())
    event_rows.push_back(row);
  for (const EventRow& row : protozero::bench::AllReadRows())
    event_rows.push_back(row);
  for (const EventRow& row : protozero::bench::AllServiceRows())
    event_rows.push_back(row);
  if (argc == 2 && first == "--list") {
    for (const Row& row : rows)
      printf("%s\n", row.name.c_str());
    for (const EventRow& row : event_rows)
      printf("%s\n", row.name.c_str());
    return 0;
  }
  if (argc != 4)
    return Usage();

  const std::string inputs = argv[2];
  if (inputs != "constant" && inputs != "random")
    return Usage();
  char* end = nullptr;
  const uintmax_t count = strtoumax(argv[3], &end, 10);
  if (end == argv[3] || *end != '\0')
    return Usage();

  for (const Row& row : rows) {
    if (row.name != first)
      continue;
    // The width is fixed, so that all numbers take the same time.
    printf("%020zu\n",
           Encode(row, inputs == "random", static_cast<size_t>(count)));
    return 0;
  }
  for (const EventRow& row : event_rows) {
    if (row.name != first)
      continue;
    if (!row.run(static_cast<size_t>(count))) {
      fprintf(stderr, "encode_rows: %s measures something else\n",
              first.c_str());
      return 1;
    }
    printf("%020d\n", 0);
    return 0;
  }
  fprintf(stderr, "encode_rows: no row '%s' (see --list)\n", first.c_str());
  return 1;
}
