// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes messages for ParseTypedInput() to a directory, one file each: a few of
// each type, so small that a fuzzer can work on them.

#include <stdint.h>
#include <stdio.h>

#include <fstream>
#include <string>
#include <vector>

#include "test/differential/dynamic_types.h"
#include "test/fuzz/generated_types.h"

int main(int argc, char** argv) {
  using namespace protozero::test;
  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  constexpr size_t kMaxSize = 1000;
  constexpr uint64_t kPerType = 6;
  const std::vector<DifferentialCase> cases = AllDifferentialCases();
  DynamicTypes types(DifferentialDescriptors());
  for (size_t i = 0; i < cases.size(); ++i) {
    for (uint64_t seed = 0; seed < kPerType; ++seed) {
      Recorder::State state(seed);
      const auto unused = types.NewMessage(cases[i].full_name);
      const std::string bytes = cases[i].to_heap(
          Recorder(unused.get(), &state, 2, seed == 0), 4096, 4096);
      if (bytes.size() > kMaxSize)
        continue;
      std::ofstream file(std::string(argv[1]) + '/' + std::to_string(i) + '.' +
                             std::to_string(seed),
                         std::ios::binary);
      file << static_cast<char>(i % 256) << static_cast<char>(i / 256) << bytes;
    }
  }
}
