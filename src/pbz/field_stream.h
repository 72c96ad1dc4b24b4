// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_FIELD_STREAM_H_
#define SRC_PBZ_FIELD_STREAM_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "protozero/const_bytes.h"

namespace pbz {

// The framing of a file.
enum class Framing : bool {
  kOneMessage,
  kDelimited,  // Messages, each after its size, a varint.
};

// Reads a message of any size, with as much of it in memory as its largest
// field takes, or one block: cuts it where a field ends. Reads length-delimited
// messages one by one.
//
//   FieldStream stream(file);
//   FieldStream::Run run;
//   while (stream.Next(&run))
//     Use(run.data, run.size);
//
// Memory follows the bytes that are there, never a size that they claim.
class FieldStream {
 public:
  static constexpr size_t kBlockSize = size_t{1} << 18;

  // Whole fields; the last run ends with the malformed bytes, if there are any.
  struct Run {
    const uint8_t* data = nullptr;
    size_t size = 0;
    uint64_t offset = 0;  // In the file.
    // With kDelimited this is one message; the bytes of its size are in front.
    size_t size_size = 0;
    // The reason why the message is not whole: its size is wrong.
    const char* malformed = nullptr;
  };

  explicit FieldStream(FILE* file,
                       size_t block_size = kBlockSize,
                       Framing framing = Framing::kOneMessage);

  Framing framing() const { return framing_; }

  // The first bytes of the file: a block of them, or |is_whole|. Before Next().
  protozero::ConstBytes Peek(bool* is_whole);

  // Sets |run|, which is valid until the next call. Returns false at the end of
  // the file, and after malformed bytes.
  bool Next(Run* run);

  // Goes back to where the file was when this was made. Returns false, and does
  // nothing, if it is a pipe or its like.
  bool Restart();

  // Reads the rest. Returns how many bytes.
  uint64_t SkipRest();

  // Why there is no more to read: an error of the system, or a field larger
  // than 2 GiB. Empty if there is none.
  const std::string& error() const { return error_; }

 private:
  void Fill();
  bool NextFields(Run* run);
  bool NextMessage(Run* run);
  // Hands out |size| bytes behind |size_size| others.
  void Take(size_t size_size, size_t size, Run* run);

  FILE* const file_;
  const off_t start_;  // -1: of a pipe.
  const Framing framing_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // Where the unused bytes in the buffer begin.
  size_t end_ = 0;
  uint64_t offset_ = 0;  // The place of begin_ in the file.
  bool at_end_ = false;
  bool finished_ = false;
  std::string error_;
};

}  // namespace pbz

#endif  // SRC_PBZ_FIELD_STREAM_H_
