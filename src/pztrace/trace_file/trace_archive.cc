// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/trace_archive.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/program/json_values.h"
#include "src/program/value_sink.h"

namespace pztrace {

namespace {

constexpr size_t kBlockSize = 512;

// The header of a file in an archive of POSIX (ustar). Numbers are octal
// digits. Everything else is zero.
struct UstarHeader {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];  // The sum of all bytes, with spaces in its own place.
  char type;
  char linkname[100];
  char magic[6];
  char version[2];
  char more[247];
};
static_assert(sizeof(UstarHeader) == kBlockSize, "it is a block");

}  // namespace

std::string ArchiveHeader(const std::string& path, uint64_t size) {
  UstarHeader header = {};
  snprintf(header.name, sizeof(header.name), "%s", path.c_str());
  snprintf(header.mode, sizeof(header.mode), "0000644");
  snprintf(header.uid, sizeof(header.uid), "0000000");
  snprintf(header.gid, sizeof(header.gid), "0000000");
  snprintf(header.size, sizeof(header.size), "%011" PRIo64, size);
  snprintf(header.mtime, sizeof(header.mtime), "00000000000");
  memset(header.checksum, ' ', sizeof(header.checksum));
  header.type = '0';
  memcpy(header.magic, "ustar", sizeof(header.magic));
  memcpy(header.version, "00", sizeof(header.version));
  std::string block(kBlockSize, '\0');
  memcpy(block.data(), &header, kBlockSize);
  unsigned sum = 0;
  for (const char byte : block)
    sum += static_cast<unsigned char>(byte);
  snprintf(block.data() + offsetof(UstarHeader, checksum),
           sizeof(header.checksum), "%06o", sum & 0777777);
  return block;
}

std::string ArchivePadding(uint64_t size) {
  return std::string((kBlockSize - size % kBlockSize) % kBlockSize, '\0');
}

std::string ArchiveEnd() {
  return std::string(2 * kBlockSize, '\0');
}

std::string ArchiveManifest(const std::vector<ArchivedTrace>& traces) {
  // The trace processor knows the file by this beginning.
  std::string text;
  program::JsonValues values(&text);
  using Container = program::ValueSink::Container;
  values.Begin(Container::kDictionary);
  values.Name("perfetto_manifest");
  values.Begin(Container::kDictionary);
  values.Member("version", int64_t{1});
  values.Name("files");
  values.Begin(Container::kArray);
  for (const ArchivedTrace& trace : traces) {
    values.BeginLine();
    values.Begin(Container::kDictionary);
    values.Member("path", trace.path);
    values.Name("machine");
    values.Begin(Container::kDictionary);
    values.Member("name", trace.host);
    values.End();
    values.End();
  }
  return text + "\n]}}\n";
}

}  // namespace pztrace
