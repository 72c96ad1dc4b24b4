// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/core_dump.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/tracing/local/flight_reader.h"
#include "src/tracing/writer/flight_header.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::FlightHeader;
using protozero::FlightReader;
using protozero::ScopedFd;

namespace {

constexpr size_t kCoreInputSize = size_t{64} << 10;
// A process has fewer: see /proc/sys/vm/max_map_count.
constexpr uint64_t kMaxSegments = 1 << 20;
constexpr size_t kSegmentsAtOnce = 1024;
// The largest recording in a compressed file, whose size says nothing.
constexpr uint64_t kMaxRecording = uint64_t{4} << 30;

bool BeginsWith(ConstBytes bytes, std::string_view begin) {
  return bytes.ToStdStringView().substr(0, begin.size()) == begin;
}

const Codec* CodecOf(ConstBytes begin) {
  for (const Codec& codec : Codecs()) {
    if (BeginsWith(begin, codec.magic))
      return &codec;
  }
  return nullptr;
}

// Returns how many bytes there are from |offset| on; fewer than |size| only at
// the end.
size_t ReadUpTo(int fd, uint64_t offset, size_t size, uint8_t* data) {
  size_t done = 0;
  while (done < size) {
    const ssize_t result =
        pread(fd, data + done, size - done, static_cast<off_t>(offset + done));
    if (result < 0 && errno == EINTR)
      continue;
    if (result <= 0)
      break;
    done += static_cast<size_t>(result);
  }
  return done;
}

}  // namespace

bool RawBytes::Open(ScopedFd fd, uint64_t size, std::string* error) {
  fd_ = std::move(fd);
  size_ = size;
  uint8_t begin[16] = {};
  const size_t begin_size = ReadUpTo(fd_.get(), 0, sizeof(begin), begin);
  const Codec* const codec = CodecOf({begin, begin_size});
  if (codec == nullptr)
    return true;
  if (!codec->is_built()) {
    *error = codec->WhyNotBuilt();
    return false;
  }
  decompressor_ = codec->library.new_decompressor();
  if (decompressor_ == nullptr) {
    *error = "out of memory";
    return false;
  }
  input_.resize(kCoreInputSize);
  head_.resize(kHeadSize);
  // A shorter file has zeros after it.
  DecompressNext(kHeadSize, head_.data());
  return true;
}

bool RawBytes::Read(uint64_t offset, size_t size, uint8_t* data) {
  if (size > UINT64_MAX - offset)
    return false;
  if (!is_compressed())
    return ReadRaw(offset, size, data);
  if (offset < kHeadSize) {
    const size_t done = std::min(size, kHeadSize - static_cast<size_t>(offset));
    memcpy(data, head_.data() + offset, done);
    offset += done;
    data += done;
    size -= done;
    if (size == 0)
      return true;
  }
  if (offset < pos_ || offset > kMaxSize)
    return false;
  std::vector<uint8_t> part(kCoreInputSize);
  while (pos_ < offset) {
    const size_t skipped =
        static_cast<size_t>(std::min<uint64_t>(part.size(), offset - pos_));
    if (!DecompressNext(skipped, part.data()))
      return false;
  }
  while (size != 0) {
    const size_t done = std::min(size, part.size());
    if (!DecompressNext(done, part.data()))
      return false;
    if (std::any_of(part.data(), part.data() + done,
                    [](uint8_t byte) { return byte != 0; })) {
      memcpy(data, part.data(), done);
    }
    data += done;
    size -= done;
  }
  return true;
}

bool RawBytes::ReadRaw(uint64_t offset, size_t size, uint8_t* data) {
  if (offset + size > size_)
    return false;
  const auto is_in_hole = [&] {
    return offset >= hole_begin_ && offset + size <= hole_end_;
  };
  if (is_in_hole())
    return true;
  const off_t next_data =
      lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  hole_begin_ = offset;
  hole_end_ = next_data >= 0   ? static_cast<uint64_t>(next_data)
              : errno == ENXIO ? size_
                               : offset;
  return is_in_hole() || ReadUpTo(fd_.get(), offset, size, data) == size;
}

bool RawBytes::DecompressNext(size_t size, uint8_t* data) {
  while (size != 0) {
    if (rest_.size == 0) {
      const size_t read =
          ReadUpTo(fd_.get(), file_pos_, input_.size(), input_.data());
      file_pos_ += read;
      rest_ = ConstBytes(input_.data(), read);
    }
    const bool is_at_end = rest_.size == 0;
    size_t written = 0;
    const Decompressor::Result result =
        decompressor_->Run(&rest_, data, size, &written);
    data += written;
    size -= written;
    pos_ += written;
    if (result == Decompressor::Result::kBroken ||
        (is_at_end && written == 0 && size != 0)) {
      return false;
    }
  }
  return true;
}

bool CoreDump::IsOne(ConstBytes begin) {
  return BeginsWith(begin, {ELFMAG, SELFMAG}) || CodecOf(begin) != nullptr;
}

bool CoreDump::Open(ScopedFd fd, uint64_t size, std::string* error) {
  if (!file_.Open(std::move(fd), size, error))
    return false;
  uint8_t begin[sizeof(FlightHeader::kMagic)] = {};
  if (file_.Read(0, sizeof(begin), begin) &&
      memcmp(begin, FlightHeader::kMagic, sizeof(begin)) == 0) {
    segments_ = {{0, UINT64_MAX}};
    return true;
  }
  return ReadSegments(error);
}

bool CoreDump::ReadSegments(std::string* error) {
  Elf64_Ehdr elf = {};
  if (!file_.Read(0, sizeof(elf), reinterpret_cast<uint8_t*>(&elf)) ||
      memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_type != ET_CORE ||
      elf.e_phentsize != sizeof(Elf64_Phdr)) {
    *error = "no core dump of a 64-bit program";
    return false;
  }
  uint64_t num_segments = elf.e_phnum;
  std::vector<Elf64_Phdr> table(kSegmentsAtOnce);
  for (uint64_t i = 0; i < num_segments;) {
    const size_t count = static_cast<size_t>(
        std::min<uint64_t>(num_segments - i, kSegmentsAtOnce));
    const size_t bytes = count * sizeof(Elf64_Phdr);
    memset(static_cast<void*>(table.data()), 0, bytes);
    if (elf.e_phoff > file_.size() ||
        !file_.Read(elf.e_phoff + i * sizeof(Elf64_Phdr), bytes,
                    reinterpret_cast<uint8_t*>(table.data()))) {
      is_cut_ = true;
      break;
    }
    if (i == 0 && elf.e_phnum == PN_XNUM)
      num_segments = NumSegments(elf, table[0]);
    for (size_t j = 0; j < count; ++j) {
      const Elf64_Phdr& segment = table[j];
      if (segment.p_type != PT_LOAD || segment.p_filesz < FlightHeader::kSize ||
          segment.p_filesz > UINT64_MAX - segment.p_offset) {
        continue;
      }
      is_cut_ |= segment.p_offset + segment.p_filesz > file_.size();
      segments_.push_back({segment.p_offset, segment.p_filesz});
    }
    i += count;
  }
  std::sort(
      segments_.begin(), segments_.end(),
      [](const Segment& a, const Segment& b) { return a.offset < b.offset; });
  return true;
}

uint64_t CoreDump::NumSegments(const Elf64_Ehdr& elf, const Elf64_Phdr& first) {
  uint64_t num_segments = elf.e_phnum;
  Elf64_Shdr section = {};
  if (first.p_type == PT_NOTE && first.p_offset > elf.e_phoff) {
    num_segments = (first.p_offset - elf.e_phoff) / sizeof(Elf64_Phdr);
  } else if (!file_.is_compressed() &&
             file_.Read(elf.e_shoff, sizeof(section),
                        reinterpret_cast<uint8_t*>(&section))) {
    num_segments = section.sh_info;
  }
  return std::min(num_segments, kMaxSegments);
}

bool CoreDump::Next(ConstBytes* recording) {
  while (next_segment_ < segments_.size()) {
    const Segment& segment = segments_[next_segment_++];
    // Segments that overlap are those of a hostile file.
    if (segment.offset >= end_ && ReadRecording(segment, recording))
      return true;
  }
  return false;
}

bool CoreDump::ReadRecording(const Segment& segment, ConstBytes* recording) {
  alignas(FlightHeader) uint8_t begin[FlightHeader::kSize] = {};
  if (!file_.Read(segment.offset, sizeof(begin), begin)) {
    is_cut_ = true;
    return false;
  }
  std::string no_recording;
  if (FlightReader::SizeOf(begin, &no_recording) == 0)
    return false;
  auto* const header = reinterpret_cast<FlightHeader*>(begin);
  // The file of a folder's recorder has no pages.
  if (header->num_pages == 0)
    return false;
  const uint64_t page_size = header->page_size;
  const uint64_t room = std::min(
      segment.size,
      file_.is_compressed() ? kMaxRecording : file_.size() - segment.offset);
  pages_ = header->num_pages;
  const uint64_t max_pages =
      std::min(pages_, (room - FlightHeader::kSize) / page_size);
  const uint64_t size = FlightHeader::kSize + max_pages * page_size;
  memory_.reset();
  memory_.reset(static_cast<uint8_t*>(calloc(static_cast<size_t>(size), 1)));
  if (memory_ == nullptr) {
    is_out_of_memory_ = true;
    return false;
  }
  uint64_t num_pages = 0;
  uint64_t pos = FlightHeader::kSize;
  for (; num_pages < max_pages; ++num_pages, pos += page_size) {
    if (!file_.Read(segment.offset + pos, static_cast<size_t>(page_size),
                    memory_.get() + pos)) {
      break;
    }
  }
  pages_missing_ = pages_ - num_pages;
  is_cut_ |= pages_missing_ != 0;
  // The pages that are there make a recording.
  header->num_pages = static_cast<uint32_t>(num_pages);
  memcpy(memory_.get(), begin, sizeof(begin));
  *recording = ConstBytes(memory_.get(), static_cast<size_t>(pos));
  end_ = segment.offset + pos;
  return true;
}

}  // namespace pztrace
