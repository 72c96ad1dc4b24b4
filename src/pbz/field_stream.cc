// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_stream.h"

#include <errno.h>
#include <string.h>

#include <utility>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"

namespace pbz {

FieldStream::FieldStream(FILE* file, size_t block_size, Framing framing)
    : file_(file),
      start_(ftello(file)),
      framing_(framing),
      buffer_(block_size) {}

protozero::ConstBytes FieldStream::Peek(bool* is_whole) {
  if (end_ == 0 && !at_end_)
    Fill();
  *is_whole = at_end_;
  return protozero::ConstBytes(buffer_.data(), end_);
}

void FieldStream::Fill() {
  if (begin_ > 0) {
    memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size())
    buffer_.resize(2 * buffer_.size());
  const size_t wanted = buffer_.size() - end_;
  const size_t size = ReadBytes(buffer_.data() + end_, wanted);
  end_ += size;
  at_end_ = size < wanted;
}

size_t FieldStream::ReadBytes(uint8_t* data, size_t size) {
  const size_t read = fread(data, 1, size, file_);
  if (read < size && ferror(file_))
    set_error(strerror(errno));
  return read;
}

void FieldStream::set_error(std::string error) {
  if (error_.empty())
    error_ = std::move(error);
}

bool FieldStream::Next(Run* run) {
  return framing_ == Framing::kDelimited ? NextMessage(run) : NextFields(run);
}

void FieldStream::Take(size_t size_size, size_t size, Run* run) {
  *run = Run();
  run->data = buffer_.data() + begin_ + size_size;
  run->size = size;
  run->offset = offset_ + size_size;
  run->size_size = size_size;
  begin_ += size_size + size;
  offset_ += size_size + size;
}

bool FieldStream::NextMessage(Run* run) {
  while (!finished_) {
    const uint8_t* data = buffer_.data() + begin_;
    const size_t available = end_ - begin_;
    uint64_t size = 0;
    const uint8_t* next =
        protozero::proto_utils::ParseVarInt(data, data + available, &size);
    const auto size_size = static_cast<size_t>(next - data);
    const size_t rest = available - size_size;
    const bool has_size = size_size != 0 && size <= kMaxFieldSize;
    if (has_size && size <= rest) {
      Take(size_size, static_cast<size_t>(size), run);
      return true;
    }
    const bool may_go_on =
        has_size || (size_size == 0 &&
                     available < protozero::proto_utils::kMaxVarIntEncodedSize);
    if (may_go_on && !at_end_) {
      Fill();
      continue;
    }
    finished_ = true;
    if (available == 0)
      return false;
    Take(has_size ? size_size : available, has_size ? rest : 0, run);
    if (has_size)
      run->malformed = "a message goes beyond the end of the input";
    else if (size_size != 0)
      run->malformed = "the size of a message is above 2 GiB";
    else
      run->malformed = "the size of a message is no varint";
    return true;
  }
  return false;
}

bool FieldStream::NextFields(Run* run) {
  while (!finished_) {
    const uint8_t* data = buffer_.data() + begin_;
    protozero::ProtoDecoder decoder(data, end_ - begin_);
    size_t size = 0;  // The size of the whole fields.
    while (decoder.ReadField().valid())
      size = decoder.read_offset();
    if (size == 0) {
      const bool may_go_on =
          decoder.status() == protozero::DecodeStatus::kOk ||
          decoder.status() == protozero::DecodeStatus::kTruncated;
      if (may_go_on && !at_end_ && end_ - begin_ <= max_field_size_) {
        Fill();
        continue;
      }
      if (may_go_on && !at_end_)
        set_error("a field is larger than " +
                  std::to_string((max_field_size_ + 1) >> 20) + " MiB");
      finished_ = true;
      size = end_ - begin_;
      if (size == 0)
        return false;
    }
    Take(0, size, run);
    return true;
  }
  return false;
}

bool FieldStream::Restart() {
  if (start_ < 0 || fseeko(file_, start_, SEEK_SET) != 0)
    return false;
  begin_ = end_ = 0;
  offset_ = 0;
  at_end_ = finished_ = false;
  error_.clear();
  return true;
}

uint64_t FieldStream::SkipRest() {
  uint64_t skipped = end_ - begin_;
  begin_ = end_ = 0;
  while (size_t size = ReadBytes(buffer_.data(), buffer_.size()))
    skipped += size;
  at_end_ = finished_ = true;
  offset_ += skipped;
  return skipped;
}

void FieldStream::ReadRest(std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(buffer_.data()) + begin_,
                end_ - begin_);
  begin_ = end_ = 0;
  while (size_t size = ReadBytes(buffer_.data(), buffer_.size()))
    bytes->append(reinterpret_cast<const char*>(buffer_.data()), size);
  at_end_ = finished_ = true;
}

}  // namespace pbz
