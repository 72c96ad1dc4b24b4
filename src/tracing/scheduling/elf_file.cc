// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

constexpr size_t kMaxProgramHeaders = 1024;
constexpr size_t kMaxNotes = 64 * 1024;
constexpr size_t kMaxBuildIdSize = 64;

// Reads up to |size| bytes at an offset.
std::string ReadAt(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t result =
      pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(result, 0)));
  return bytes;
}

size_t Aligned(size_t size) {
  return (size + 3) & ~size_t{3};
}

// Returns the build id among the notes, or an empty text.
std::string FindBuildId(const std::string& notes) {
  for (size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof(note));
    at += sizeof(note);
    if (note.n_namesz > kMaxNotes || note.n_descsz > kMaxNotes)
      break;
    const size_t content = at + Aligned(note.n_namesz);
    const size_t end = content + Aligned(note.n_descsz);
    if (content + note.n_descsz > notes.size())
      break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        note.n_namesz == sizeof(ELF_NOTE_GNU) &&
        memcmp(notes.data() + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
        note.n_descsz <= kMaxBuildIdSize) {
      return notes.substr(content, note.n_descsz);
    }
    if (end >= notes.size())
      break;
    at = end;
  }
  return "";
}

template <typename Header, typename ProgramHeader>
void ReadProgramHeaders(int fd, ElfFile* file) {
  const std::string start = ReadAt(fd, 0, sizeof(Header));
  Header header;
  if (start.size() < sizeof(header))
    return;
  memcpy(&header, start.data(), sizeof(header));
  const size_t number = std::min<size_t>(header.e_phnum, kMaxProgramHeaders);
  if (header.e_phentsize != sizeof(ProgramHeader))
    return;
  const std::string headers =
      ReadAt(fd, header.e_phoff, number * sizeof(ProgramHeader));
  for (size_t i = 0; (i + 1) * sizeof(ProgramHeader) <= headers.size(); ++i) {
    ProgramHeader part;
    memcpy(&part, headers.data() + i * sizeof(part), sizeof(part));
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      file->segments.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
    if (part.p_type == PT_NOTE && file->build_id.empty()) {
      const auto size = std::min<uint64_t>(part.p_filesz, kMaxNotes);
      file->build_id =
          FindBuildId(ReadAt(fd, part.p_offset, static_cast<size_t>(size)));
    }
  }
}

}  // namespace

uint64_t ElfFile::BiasAt(uint64_t file_offset) const {
  // Files are mapped by pages, and segments begin anywhere in one.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Segment& segment : segments) {
    const uint64_t begin = segment.file_offset / page * page;
    if (file_offset >= begin &&
        file_offset - begin < segment.size + (segment.file_offset - begin)) {
      return segment.address - segment.file_offset;
    }
  }
  return 0;
}

ElfFile ReadElfFile(const std::string& path) {
  ElfFile file;
  // A pipe in place of the file would keep the recorder waiting.
  const ScopedFd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int fd = opened.get_unchecked();
  if (fd < 0)
    return file;
  const std::string id = ReadAt(fd, 0, EI_NIDENT);
  if (id.size() == EI_NIDENT && memcmp(id.data(), ELFMAG, SELFMAG) == 0) {
    if (id[EI_CLASS] == ELFCLASS64)
      ReadProgramHeaders<Elf64_Ehdr, Elf64_Phdr>(fd, &file);
    else if (id[EI_CLASS] == ELFCLASS32)
      ReadProgramHeaders<Elf32_Ehdr, Elf32_Phdr>(fd, &file);
  }
  return file;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
