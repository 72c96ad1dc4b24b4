// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_CORE_DUMP_H_
#define SRC_PZTRACE_TRACE_FILE_CORE_DUMP_H_

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pztrace/trace_file/codec.h"
#include "src/tracing/ipc/unix_socket.h"

namespace pztrace {

// The bytes of a file that may be compressed, or have holes.
class RawBytes {
 public:
  // Begins to read |fd|. Returns false, with the reason in |error|, if it is
  // compressed in a way that this build does not read.
  bool Open(protozero::ScopedFd fd, uint64_t size, std::string* error);

  // Reads bytes after those that were read before, or kHeadSize at the
  // beginning. REQUIRES: |data| is zero: bytes that are zero are not written,
  // so they take no memory. Returns false if they are not there.
  bool Read(uint64_t offset, size_t size, uint8_t* data);

  bool is_compressed() const { return decompressor_ != nullptr; }
  // Returns the size of the file; the largest one if it is compressed.
  uint64_t size() const { return is_compressed() ? UINT64_MAX : size_; }

 private:
  static constexpr size_t kHeadSize = 4096;
  // The most that is decompressed: a few bytes may stand for very many.
  static constexpr uint64_t kMaxSize = uint64_t{64} << 30;

  bool ReadRaw(uint64_t offset, size_t size, uint8_t* data);
  // Decompresses the next bytes. Returns false if there are not as many.
  bool DecompressNext(size_t size, uint8_t* data);

  protozero::ScopedFd fd_;
  uint64_t size_ = 0;
  // A part of the file without bytes, from |hole_begin_| to |hole_end_|.
  uint64_t hole_begin_ = 0;
  uint64_t hole_end_ = 0;

  // Null if the file is not compressed.
  std::unique_ptr<Decompressor> decompressor_;
  uint64_t file_pos_ = 0;
  std::vector<uint8_t> input_;
  protozero::ConstBytes rest_{};
  // The place of the next byte that is decompressed.
  uint64_t pos_ = 0;
  std::vector<uint8_t> head_;
};

// The recordings of flight recorders in the core dump of a process: each is a
// segment of its own. The file may be cut, and compressed, also if it is no
// core dump but the file of a flight recorder. It is not trusted: takes no more
// memory than the segment of a recording has bytes in the file.
class CoreDump {
 public:
  // Returns whether a file that begins like this is for this class.
  static bool IsOne(protozero::ConstBytes begin);

  // Reads the list of segments. Returns false, with the reason in |error|, if
  // there is none.
  bool Open(protozero::ScopedFd fd, uint64_t size, std::string* error);
  // Finds the next recording. It is valid until the next call. Returns false
  // if there is none.
  bool Next(protozero::ConstBytes* recording);

  // Returns whether the file is not whole.
  bool is_cut() const { return is_cut_; }
  // Returns whether a recording was left out because there is no memory.
  bool is_out_of_memory() const { return is_out_of_memory_; }
  // Returns how many pages the last recording lacks, and how many it had.
  uint64_t pages_missing() const { return pages_missing_; }
  uint64_t pages() const { return pages_; }

 private:
  struct Segment {
    uint64_t offset;
    uint64_t size;
  };
  struct FreeMemory {
    void operator()(uint8_t* memory) const { free(memory); }
  };

  bool ReadSegments(std::string* error);
  // Returns the number of segments if there are more than |elf| can say. The
  // end of the file has it, which may be cut; the notes, which come first,
  // begin after the table of segments.
  uint64_t NumSegments(const Elf64_Ehdr& elf, const Elf64_Phdr& first);
  // Reads the recording that begins the segment. Returns false if there is
  // none.
  bool ReadRecording(const Segment& segment, protozero::ConstBytes* recording);

  RawBytes file_;
  std::vector<Segment> segments_;
  size_t next_segment_ = 0;
  // The end of the last recording, from which on the next one begins.
  uint64_t end_ = 0;
  bool is_cut_ = false;
  bool is_out_of_memory_ = false;
  uint64_t pages_ = 0;
  uint64_t pages_missing_ = 0;
  std::unique_ptr<uint8_t, FreeMemory> memory_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_CORE_DUMP_H_
