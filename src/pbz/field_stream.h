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

// The structure of a file.
enum class Framing : bool {
  kOneMessage,
  kDelimited,  // Messages, each after its size, a varint.
};

// Reads a message of any size in runs that end where a field ends. It needs
// memory for the largest field, or for one block. It reads length-delimited
// messages one by one.
//
//   FieldStream stream(file);
//   FieldStream::Run run;
//   while (stream.Next(&run))
//     Use(run.data, run.size);
//
// Memory grows with the bytes that are there, never with a size that they
// claim.
//
// A subclass may get these bytes from what the file has, or change the runs.
class FieldStream {
 public:
  static constexpr size_t kBlockSize = size_t{1} << 18;

  // A run of whole fields. The last one ends with the malformed bytes, if any.
  struct Run {
    const uint8_t* data = nullptr;
    size_t size = 0;
    uint64_t offset = 0;  // The place of |data| in the file.
    // The size of the message's own size, which is in front of |data|. Only
    // with kDelimited, where each run is one message.
    size_t size_size = 0;
    // The reason, if the message is not whole because its size is wrong.
    const char* malformed = nullptr;
  };

  explicit FieldStream(FILE* file,
                       size_t block_size = kBlockSize,
                       Framing framing = Framing::kOneMessage);
  virtual ~FieldStream() = default;
  FieldStream(const FieldStream&) = delete;
  FieldStream& operator=(const FieldStream&) = delete;

  Framing framing() const { return framing_; }

  // Returns the first block of the file, or all of it, which sets |is_whole|.
  // REQUIRES: Next() has not been called.
  protozero::ConstBytes Peek(bool* is_whole);

  // Sets |run|, which is valid until the next call. Returns false at the end of
  // the file, and after malformed bytes.
  virtual bool Next(Run* run);

  // Goes back to the place that the file had when this was made. Returns false,
  // and does nothing, if it is a pipe or its like.
  virtual bool Restart();

  // Reads the rest, and returns its size in bytes.
  uint64_t SkipRest();
  // Appends all that has not been read to |bytes|.
  void ReadRest(std::string* bytes);

  // Returns why there is no more to read: an error of the system, or a field
  // that is too large, by default above 2 GiB. Empty if there is no error.
  const std::string& error() const { return error_; }

 protected:
  // Reads |size| bytes, or all that are left, to |data|. Returns their number,
  // and sets an error if not all could be read.
  virtual size_t ReadBytes(uint8_t* data, size_t size);
  // Sets the error if there was none.
  void set_error(std::string error);
  void set_max_field_size(size_t size) { max_field_size_ = size; }

 private:
  // The largest message that parsers of protobuf accept.
  static constexpr size_t kMaxFieldSize = (size_t{1} << 31) - 1;

  void Fill();
  bool NextFields(Run* run);
  bool NextMessage(Run* run);
  // Sets |run| to |size| bytes, which |size_size| others precede.
  void Take(size_t size_size, size_t size, Run* run);

  FILE* const file_;
  const off_t start_;  // The place at the beginning; -1 for a pipe.
  const Framing framing_;
  size_t max_field_size_ = kMaxFieldSize;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // The first unused byte in the buffer.
  size_t end_ = 0;
  uint64_t offset_ = 0;  // The place of begin_ in the file.
  bool at_end_ = false;
  bool finished_ = false;
  std::string error_;
};

}  // namespace pbz

#endif  // SRC_PBZ_FIELD_STREAM_H_
