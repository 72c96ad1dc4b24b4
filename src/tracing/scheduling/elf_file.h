// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_ELF_FILE_H_
#define SRC_TRACING_SCHEDULING_ELF_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The parts of an ELF file that say where its code is, and which file it is.
// Nothing in the file is trusted.
struct ElfFile {
  // A part of the file that is mapped as code.
  struct Segment {
    uint64_t file_offset = 0;
    uint64_t size = 0;
    // The address by which the file's symbols name it.
    uint64_t address = 0;
  };

  // The bytes of the build id; empty if the file has none.
  std::string build_id;
  std::vector<Segment> segments;

  // Returns the difference between the symbols' addresses and offsets in the
  // file, for the segment with that offset.
  uint64_t BiasAt(uint64_t file_offset) const;
};

// Reads a file of this system's byte order. The result is empty if it is none.
ElfFile ReadElfFile(const std::string& path);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_ELF_FILE_H_
