// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;

constexpr int kDefaultDeflateLevel = 6;
// The largest window, and either of the formats of zlib and gzip.
constexpr int kAnyWindow = MAX_WBITS + 32;

class Inflater : public Decompressor {
 public:
  Inflater() { has_memory_ = inflateInit2(&stream_, kAnyWindow) == Z_OK; }
  ~Inflater() override {
    if (has_memory_)
      inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool has_memory() const { return has_memory_; }

  Result Run(ConstBytes* input,
             uint8_t* output,
             size_t room,
             size_t* written) override {
    if (is_at_end_ && inflateReset(&stream_) != Z_OK)
      return Result::kBroken;
    const size_t taken = std::min<size_t>(input->size, UINT32_MAX);
    // The cast is safe: zlib does not write to its input.
    stream_.next_in = const_cast<uint8_t*>(input->data);
    stream_.avail_in = static_cast<uInt>(taken);
    stream_.next_out = output;
    const size_t wanted = std::min<size_t>(room, UINT32_MAX);
    stream_.avail_out = static_cast<uInt>(wanted);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input->data += taken - stream_.avail_in;
    input->size -= taken - stream_.avail_in;
    *written = wanted - stream_.avail_out;
    is_at_end_ = result == Z_STREAM_END;
    if (is_at_end_)
      return Result::kEnd;
    // Z_BUF_ERROR means that there was no input, or no room.
    return result == Z_OK || result == Z_BUF_ERROR ? Result::kGoesOn
                                                   : Result::kBroken;
  }

 private:
  z_stream stream_ = {};
  bool has_memory_ = false;
  bool is_at_end_ = false;
};

std::unique_ptr<Decompressor> NewInflater() {
  auto inflater = std::make_unique<Inflater>();
  return inflater->has_memory() ? std::move(inflater) : nullptr;
}

bool Deflate(ConstBytes bytes, int level, std::string* compressed) {
  const size_t begin = compressed->size();
  uLongf size = compressBound(static_cast<uLong>(bytes.size));
  compressed->resize(begin + size);
  const int result =
      compress2(reinterpret_cast<uint8_t*>(&(*compressed)[begin]), &size,
                bytes.data, static_cast<uLong>(bytes.size),
                level == 0 ? kDefaultDeflateLevel : level);
  compressed->resize(begin + (result == Z_OK ? size : 0));
  return result == Z_OK;
}

}  // namespace

CodecLibrary DeflateLibrary() {
  return {NewInflater, Deflate};
}

}  // namespace pztrace
