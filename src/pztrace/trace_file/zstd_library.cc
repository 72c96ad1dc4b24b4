// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;

struct FreeDecompression {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdDecompressor : public Decompressor {
 public:
  bool has_memory() const { return context_ != nullptr; }

  Result Run(ConstBytes* input,
             uint8_t* output,
             size_t room,
             size_t* written) override {
    ZSTD_inBuffer in = {input->data, input->size, 0};
    ZSTD_outBuffer out = {output, room, 0};
    const size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
    input->data += in.pos;
    input->size -= in.pos;
    *written = out.pos;
    if (ZSTD_isError(result))
      return Result::kBroken;
    return result == 0 ? Result::kEnd : Result::kGoesOn;
  }

 private:
  const std::unique_ptr<ZSTD_DCtx, FreeDecompression> context_{
      ZSTD_createDCtx()};
};

std::unique_ptr<Decompressor> NewZstdDecompressor() {
  auto decompressor = std::make_unique<ZstdDecompressor>();
  return decompressor->has_memory() ? std::move(decompressor) : nullptr;
}

bool CompressZstd(ConstBytes bytes, int level, std::string* compressed) {
  const size_t begin = compressed->size();
  const size_t room = ZSTD_compressBound(bytes.size);
  compressed->resize(begin + room);
  const size_t size = ZSTD_compress(
      &(*compressed)[begin], room, bytes.data, bytes.size,
      level == 0 ? ZSTD_CLEVEL_DEFAULT
                 : std::clamp(level, ZSTD_minCLevel(), ZSTD_maxCLevel()));
  const bool ok = !ZSTD_isError(size);
  compressed->resize(begin + (ok ? size : 0));
  return ok;
}

}  // namespace

CodecLibrary ZstdLibrary() {
  return {NewZstdDecompressor, CompressZstd};
}

}  // namespace pztrace
