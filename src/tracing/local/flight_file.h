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
// |path|.last; one that was kept before is replaced. In a folder of several
// users, another one may have taken that name: then it is kept as
// |path|.last.1, or so on up to 9. A device or a FIFO in its place is an error.
// As long as the file is mapped, it is locked by flock(2), so that no snapshot
// replaces it. If |path| is empty, makes memory without a name. Returns null on
// failure, with the reason in |error|. May throw std::bad_alloc.
std::unique_ptr<SharedMemoryFile> MakeFlightFile(const std::string& path,
                                                 size_t size,
                                                 std::string* error);

// Makes such a file in |folder|, a descriptor. REQUIRES: there is no such file.
std::unique_ptr<SharedMemoryFile> MakeFlightFileIn(int folder,
                                                   const std::string& name,
                                                   size_t size,
                                                   std::string* error);

// Makes a file that is only a header, for the clocks in it. Otherwise the same.
std::unique_ptr<SharedMemoryFile> MakeFlightHeader(int folder,
                                                   const std::string& name,
                                                   std::string* error);

// Returns a name that other users could not take beforehand: |path|, ".new.",
// and the process; from the second |attempt| on, the time, too.
std::string NewFlightName(const std::string& path, int attempt);
inline constexpr int kMaxNewFlightNames = 16;

// Returns a name for what |path| was in the last run: |path|.last, and from the
// second |attempt| on, with its number.
std::string LastFlightName(const std::string& path, int attempt);
inline constexpr int kMaxLastFlightNames = 10;

// Returns the header. REQUIRES: one of these functions has made |file|.
inline FlightHeader* HeaderOf(const SharedMemoryFile& file) {
  return reinterpret_cast<FlightHeader*>(file.start());
}

// Says in the header that the recording ends now. Async-signal-safe.
void SetEndClocks(FlightHeader* header);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_FILE_H_
