// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/trace_stream.h"

#include <inttypes.h>
#include <string.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/trace_reader/event_prefix.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;

constexpr size_t kInputSize = size_t{64} << 10;

// Packets inside of another one.
struct CompressedPackets {
  const Codec* codec = nullptr;
  ConstBytes bytes{};
};

CompressedPackets FindCompressed(ConstBytes packet) {
  if (protozero::internal::BeginsWithEvent(packet))
    return {};
  ProtoDecoder decoder(packet);
  while (const Field field = decoder.ReadField()) {
    if (const Codec* codec = CodecOfField(field.id()))
      return {codec, field.as_bytes()};
  }
  return {};
}

// Returns the size of the first part of |packets|: those in front of a
// compressed one, or that one alone, which sets |compressed|.
size_t SizeOfNextPart(ConstBytes packets, CompressedPackets* compressed) {
  ProtoDecoder decoder(packets);
  size_t begin = 0;
  while (const Field field = decoder.ReadField()) {
    if (field.id() == protozero::trace::Trace::kPacketFieldNumber)
      *compressed = FindCompressed(field.as_bytes());
    if (compressed->codec != nullptr)
      break;
    begin = decoder.read_offset();
  }
  if (compressed->codec == nullptr)
    return packets.size;
  if (begin == 0)
    return decoder.read_offset();
  *compressed = {};
  return begin;
}

}  // namespace

TraceStream::TraceStream(FILE* file, std::string why_cut)
    : FieldStream(file), why_cut_(std::move(why_cut)), buffer_(kInputSize) {}

void TraceStream::FillInput() {
  input_ = ConstBytes(buffer_.data(),
                      FieldStream::ReadBytes(buffer_.data(), buffer_.size()));
  input_end_ += input_.size;
}

void TraceStream::BeginFile() {
  has_begun_ = true;
  FillInput();
  for (const Codec& codec : Codecs()) {
    if (codec.is_built() &&
        input_.ToStdStringView().substr(0, codec.magic.size()) == codec.magic) {
      decompressor_ = codec.library.new_decompressor();
      set_max_field_size(kMaxDecompressed);
    }
  }
}

size_t TraceStream::ReadBytes(uint8_t* data, size_t size) {
  if (!has_begun_)
    BeginFile();
  if (decompressor_ == nullptr) {
    const size_t first = std::min(size, input_.size);
    memcpy(data, input_.data, first);
    input_ = ConstBytes(input_.data + first, input_.size - first);
    const size_t read =
        first + FieldStream::ReadBytes(data + first, size - first);
    if (read != size && !why_cut_.empty())
      set_error(why_cut_);
    return read;
  }
  size_t done = 0;
  while (done < size) {
    if (input_.size == 0)
      FillInput();
    const bool is_at_end = input_.size == 0;
    if (is_at_end && !is_in_stream_)
      break;
    size_t written = 0;
    const Decompressor::Result result =
        decompressor_->Run(&input_, data + done, size - done, &written);
    done += written;
    is_in_stream_ = result == Decompressor::Result::kGoesOn;
    if (result == Decompressor::Result::kBroken) {
      set_error("the compressed file is broken before byte " +
                std::to_string(input_end_ - input_.size));
      break;
    }
    if (is_at_end && is_in_stream_ && written == 0) {
      set_error("the compressed file is truncated");
      break;
    }
  }
  return done;
}

bool TraceStream::Restart() {
  if (!FieldStream::Restart())
    return false;
  input_ = rest_ = {};
  has_begun_ = is_in_stream_ = is_damaged_ = false;
  decompressor_ = nullptr;
  input_end_ = offset_ = rest_offset_ = num_unread_ = 0;
  return true;
}

void TraceStream::SetRun(ConstBytes bytes, Run* run) {
  *run = Run();
  run->data = bytes.data;
  run->size = bytes.size;
  run->offset = offset_;
  offset_ += bytes.size;
}

bool TraceStream::Next(Run* run) {
  for (;;) {
    if (rest_.size == 0) {
      Run next;
      if (!FieldStream::Next(&next))
        return false;
      rest_ = ConstBytes(next.data, next.size);
      rest_offset_ = next.offset;
    }
    CompressedPackets compressed;
    const bool is_known = rest_offset_ + rest_.size <= first_compressed_;
    const size_t size =
        is_known ? rest_.size : SizeOfNextPart(rest_, &compressed);
    const ConstBytes part(rest_.data, size);
    const uint64_t part_offset = rest_offset_;
    rest_ = ConstBytes(rest_.data + size, rest_.size - size);
    rest_offset_ += size;
    if (compressed.codec == nullptr) {
      if (part_offset == first_compressed_)
        first_compressed_ = rest_offset_;
      SetRun(part, run);
      return true;
    }
    content_.clear();
    std::string why = Decompress(*compressed.codec, compressed.bytes,
                                 kMaxDecompressed, &content_);
    if (!why.empty()) {
      AddUnread(*compressed.codec, part_offset, std::move(why));
      SetRun(part, run);
      return true;
    }
    if (!content_.empty()) {
      SetRun(ConstBytes(reinterpret_cast<const uint8_t*>(content_.data()),
                        content_.size()),
             run);
      return true;
    }
  }
}

void TraceStream::AddUnread(const Codec& codec,
                            uint64_t offset,
                            std::string why) {
  is_damaged_ = is_damaged_ || codec.is_built();
  if (num_unread_++ != 0)
    return;
  unread_offset_ = offset;
  why_unread_ = std::move(why);
}

bool TraceStream::ReportUnread(const char* file_name) const {
  if (num_unread_ == 0)
    return true;
  program::PrintError(
      kProgram, "%s: the compressed packets at byte %" PRIu64 "%s: %s",
      file_name, unread_offset_,
      num_unread_ == 1
          ? " cannot be read"
          : (" and " + std::to_string(num_unread_ - 1) + " more cannot be read")
                .c_str(),
      why_unread_.c_str());
  return !is_damaged_;
}

}  // namespace pztrace
