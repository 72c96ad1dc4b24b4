// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/codec.h"

#include <algorithm>

#include "protozero/tracing/trace.h"

namespace pztrace {

using protozero::ConstBytes;
using protozero::trace::TracePacket;

std::string Codec::WhyNotBuilt() const {
  return std::string("this build lacks ") + name + "; install " + package +
         ", and build it again";
}

const std::array<Codec, 2>& Codecs() {
  static const std::array<Codec, 2> codecs = {{
      {"deflate", "zlib1g-dev", TracePacket::kCompressedPacketsFieldNumber,
       "\x1f\x8b", DeflateLibrary()},
      {"zstd", "libzstd-dev", TracePacket::kZstdCompressedPacketsFieldNumber,
       "\x28\xb5\x2f\xfd", ZstdLibrary()},
  }};
  return codecs;
}

const Codec* FindCodec(std::string_view name) {
  for (const Codec& codec : Codecs()) {
    if (codec.name == name)
      return &codec;
  }
  return nullptr;
}

const Codec* CodecOfField(uint32_t field_id) {
  switch (field_id) {
    case TracePacket::kCompressedPacketsFieldNumber:
      return &Codecs()[0];
    case TracePacket::kZstdCompressedPacketsFieldNumber:
      return &Codecs()[1];
    default:
      return nullptr;
  }
}

std::string Decompress(const Codec& codec,
                       ConstBytes bytes,
                       size_t max_size,
                       std::string* content) {
  constexpr size_t kStep = size_t{64} << 10;
  if (!codec.is_built())
    return codec.WhyNotBuilt();
  const auto decompressor = codec.library.new_decompressor();
  if (decompressor == nullptr)
    return "out of memory";
  const size_t begin = content->size();
  for (;;) {
    const size_t size = content->size();
    const size_t room = std::min(kStep, max_size - (size - begin));
    content->resize(size + room);
    const size_t input = bytes.size;
    size_t written = 0;
    const Decompressor::Result result = decompressor->Run(
        &bytes, reinterpret_cast<uint8_t*>(&(*content)[size]), room, &written);
    content->resize(size + written);
    if (result == Decompressor::Result::kBroken)
      return "they are broken";
    if (result == Decompressor::Result::kEnd)
      return bytes.size == 0 ? "" : "other bytes follow them";
    if (written != 0 || bytes.size != input)
      continue;
    return room == 0 ? "they are larger than " +
                           std::to_string(max_size >> 20) + " MiB"
                     : "they are truncated";
  }
}

}  // namespace pztrace
