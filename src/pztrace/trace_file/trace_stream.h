// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_TRACE_STREAM_H_
#define SRC_PZTRACE_TRACE_FILE_TRACE_STREAM_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"
#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

// The packets of a trace, whether or not they are compressed: each of them
// alone, as a service writes them, or the whole file. A reader gets it
// decompressed, and offsets count decompressed bytes.
//
// The file may come from anyone. A few bytes may stand for very many, so memory
// has limits: one packet, and all packets of one compressed one, have at most
// 64 MiB.
class TraceStream : public pbz::FieldStream {
 public:
  // A reader gets the error |why_cut|, if it is not empty, after the packets.
  explicit TraceStream(FILE* file, std::string why_cut = "");

  bool Next(Run* run) override;
  bool Restart() override;

  // Prints which compressed packets could not be read since the last
  // Restart(). They were passed on as they are. Returns false if any of them
  // was damaged. |file_name| is the name in errors.
  bool ReportUnread(const char* file_name) const;

 protected:
  size_t ReadBytes(uint8_t* data, size_t size) override;

 private:
  // Reads the next compressed bytes of the file.
  void FillInput();
  // Reads the first bytes of the file, and finds out if it is compressed.
  void BeginFile();
  // Adds a compressed packet to those that could not be read.
  void AddUnread(const Codec& codec, uint64_t offset, std::string why);
  // Sets |run| to |bytes| at the current place.
  void SetRun(protozero::ConstBytes bytes, Run* run);

  const std::string why_cut_;
  // The bytes of the file that have been read, but not used.
  std::vector<uint8_t> buffer_;
  protozero::ConstBytes input_{};
  uint64_t input_end_ = 0;  // The place of the end of |input_| in the file.
  bool has_begun_ = false;
  bool is_in_stream_ = false;
  // Null if the file is not compressed.
  std::unique_ptr<Decompressor> decompressor_;

  // The part of the file's last run that has not been returned.
  protozero::ConstBytes rest_{};
  uint64_t rest_offset_ = 0;
  // The place of the first compressed packet, as far as the file has been read.
  // What is before it is not searched again after Restart().
  uint64_t first_compressed_ = 0;
  std::string content_;  // The packets in the last compressed one.
  uint64_t offset_ = 0;
  uint64_t num_unread_ = 0;
  bool is_damaged_ = false;
  // The place and the problem of the first of them.
  uint64_t unread_offset_ = 0;
  std::string why_unread_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_TRACE_STREAM_H_
