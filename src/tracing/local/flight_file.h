// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_FLIGHT_FILE_H_
#define SRC_TRACING_LOCAL_FLIGHT_FILE_H_

#include <stddef.h>

#include <memory>
#include <string>

#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Makes a file for a flight recorder, with an empty ring of about |size| bytes,
// and maps it. All of its room on the disk is taken then, so that a full disk
// is an error here, and never a signal later. A file that is there is kept as
// |path|.last; one that was kept before is replaced. If |path| is empty, makes
// memory without a name. Returns null on failure, with the reason in |error|.
// May throw std::bad_alloc.
std::unique_ptr<SharedMemoryFile> MakeFlightFile(const std::string& path,
                                                 size_t size,
                                                 std::string* error);

// Makes a file that is only a header, for the clocks in it. Otherwise the same.
// REQUIRES: there is no such file.
std::unique_ptr<SharedMemoryFile> MakeFlightHeader(const std::string& path,
                                                   std::string* error);

// Returns the header. REQUIRES: one of these functions has made |file|.
inline FlightHeader* HeaderOf(const SharedMemoryFile& file) {
  return reinterpret_cast<FlightHeader*>(file.start());
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_FILE_H_
