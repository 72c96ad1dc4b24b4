// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// decode_rows: decodes a given number of messages with a given row of the
// benchmark, and nothing else, for callgrind. Like encode_rows.
//
//   decode_rows --list        a line per row
//   decode_rows ROW COUNT     prints the sum of all fields

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

#include "test/benchmarks/decoder.h"

int main(int argc, char** argv) {
  using namespace protozero::bench;
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool list = argc == 2 && wanted == "--list";
  if (!list && argc != 3) {
    fprintf(stderr,
            "usage: decode_rows --list\n"
            "       decode_rows ROW COUNT\n");
    return 2;
  }
  for (const DecodeWorkload& workload : AllDecodeWorkloads()) {
    for (const DecoderEntry& entry : AllDecoders()) {
      if (entry.workload != workload.name)
        continue;
      const std::string name =
          workload.name + "_" + entry.implementation + workload.suffix;
      if (list) {
        printf("%s\n", name.c_str());
      } else if (name == wanted) {
        const auto messages = workload.make_messages(workload);
        const uint64_t sum = entry.create()->DecodeBatch(
            *messages, 0, static_cast<size_t>(strtoull(argv[2], nullptr, 10)));
        printf("%020" PRIu64 "\n", sum);
        return 0;
      }
    }
  }
  if (list)
    return 0;
  fprintf(stderr, "decode_rows: no row '%s' (see --list)\n", wanted.c_str());
  return 1;
}
