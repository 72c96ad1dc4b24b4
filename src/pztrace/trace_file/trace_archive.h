// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_TRACE_ARCHIVE_H_
#define SRC_PZTRACE_TRACE_FILE_TRACE_ARCHIVE_H_

#include <stdint.h>

#include <string>
#include <vector>

namespace pztrace {

// A file of an archive, and the host that it was recorded on.
struct ArchivedTrace {
  std::string host;
  std::string path;  // Its name in the archive.
};

// The largest file that the header of a tar archive can state.
inline constexpr uint64_t kMaxArchivedBytes = (uint64_t{1} << 33) - 1;

// Returns what precedes a file in a tar archive: a block of 512 bytes.
// REQUIRES: |path| has at most 99 bytes, |size| is at most kMaxArchivedBytes.
std::string ArchiveHeader(const std::string& path, uint64_t size);
// Returns the zeros that follow a file, up to the next block.
std::string ArchivePadding(uint64_t size);
// Returns the end of an archive.
std::string ArchiveEnd();

// Returns the manifest by which Perfetto's trace processor knows the hosts, a
// JSON text.
std::string ArchiveManifest(const std::vector<ArchivedTrace>& traces);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_TRACE_ARCHIVE_H_
