// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_stream.h"

#include <errno.h>
#include <string.h>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"

namespace pbz {

namespace {

// The largest message that parsers of protobuf accept.
constexpr size_t kMaxFieldSize = (size_t{1} << 31) - 1;

}  // namespace

FieldStream::FieldStream(FILE* file, size_t block_size)
    : file_(file), buffer_(block_size) {}

void FieldStream::Fill() {
  if (begin_ > 0) {
    memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size())
    buffer_.resize(2 * buffer_.size());
  const size_t wanted = buffer_.size() - end_;
  const size_t size = fread(buffer_.data() + end_, 1, wanted, file_);
  end_ += size;
  if (size < wanted) {
    at_end_ = true;
    if (ferror(file_))
      error_ = strerror(errno);
  }
}

bool FieldStream::Next(Run* run) {
  while (!finished_) {
    const uint8_t* data = buffer_.data() + begin_;
    protozero::ProtoDecoder decoder(data, end_ - begin_);
    size_t size = 0;  // Of the whole fields.
    while (decoder.ReadField().valid())
      size = decoder.read_offset();
    if (size == 0) {
      const bool may_go_on =
          decoder.status() == protozero::DecodeStatus::kOk ||
          decoder.status() == protozero::DecodeStatus::kTruncated;
      if (may_go_on && !at_end_ && end_ - begin_ <= kMaxFieldSize) {
        Fill();
        continue;
      }
      if (may_go_on && !at_end_)
        error_ = "a field is larger than 2 GiB";
      finished_ = true;
      size = end_ - begin_;
      if (size == 0)
        return false;
    }
    *run = Run{data, size, offset_};
    begin_ += size;
    offset_ += size;
    return true;
  }
  return false;
}

uint64_t FieldStream::SkipRest() {
  uint64_t skipped = end_ - begin_;
  begin_ = end_ = 0;
  while (size_t size = fread(buffer_.data(), 1, buffer_.size(), file_))
    skipped += size;
  if (ferror(file_) && error_.empty())
    error_ = strerror(errno);
  at_end_ = finished_ = true;
  offset_ += skipped;
  return skipped;
}

}  // namespace pbz
