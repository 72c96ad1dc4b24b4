// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Lets all libraries write in turn, twice, then prints the output of the
// library that the argument names.

#include <stdio.h>
#include <string.h>

#include "test/coexistence/writers.h"

struct Writer {
  const char* name;
  std::string (*write)();
};

constexpr Writer kWriters[] = {
#if defined(WITH_OURS)
    {"ours", WriteByOurs},
#endif
#if defined(WITH_OURS_IN_PLACE)
    {"ours_in_place", WriteByOursInPlace},
#endif
#if defined(WITH_OURS_DEBUG)
    {"ours_debug", WriteByOursDebug},
#endif
#if defined(WITH_PERFETTO)
    {"perfetto", WriteByPerfetto},
#endif
#if defined(WITH_MAPBOX)
    {"mapbox", WriteByMapbox},
#endif
};

int main(int argc, char** argv) {
  std::string bytes;
  for (int round = 0; round < 2; ++round) {
    for (const Writer& writer : kWriters) {
      const std::string written = writer.write();
      if (argc == 2 && strcmp(argv[1], writer.name) == 0)
        bytes = written;
    }
  }
  return fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size();
}
