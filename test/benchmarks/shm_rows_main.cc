// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// shm_rows: writes a given number of packets with a given row of the benchmark,
// and nothing else, for callgrind. Like encode_rows.
//
//   shm_rows --list        a line per row
//   shm_rows ROW COUNT     prints the bytes of a packet

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "test/benchmarks/shm_rows.h"

int main(int argc, char** argv) {
  using namespace protozero::bench;
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool list = argc == 2 && wanted == "--list";
  if (!list && argc != 3) {
    fprintf(stderr,
            "usage: shm_rows --list\n"
            "       shm_rows ROW COUNT\n");
    return 2;
  }
  for (const ShmRow& row : AllShmRows()) {
    if (list) {
      printf("%s\n", row.name.c_str());
    } else if (row.name == wanted) {
      const size_t count = static_cast<size_t>(strtoull(argv[2], nullptr, 10));
      const std::unique_ptr<ShmSession> session = row.create();
      std::unique_ptr<ShmThread> thread = session->NewThread();
      thread->WritePackets(count);
      printf("%zu\n", thread->packet_size());
      thread.reset();
      const std::string problem = session->Check(count);
      if (!problem.empty())
        fprintf(stderr, "shm_rows: %s\n", problem.c_str());
      return problem.empty() ? 0 : 1;
    }
  }
  if (list)
    return 0;
  fprintf(stderr, "shm_rows: no row '%s' (see --list)\n", wanted.c_str());
  return 1;
}
