// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_CODEC_H_
#define SRC_PZTRACE_TRACE_FILE_CODEC_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "protozero/const_bytes.h"

namespace pztrace {

// A reader of compressed bytes, a piece at a time. One stream may follow
// another.
class Decompressor {
 public:
  enum class Result { kGoesOn, kEnd, kBroken };

  virtual ~Decompressor() = default;

  // Takes bytes off the front of |input|, and writes at most |room| to
  // |output|. Sets |written| to their number. If it goes on, it needs more of
  // one of the two. REQUIRES: the last call did not return kBroken.
  virtual Result Run(protozero::ConstBytes* input,
                     uint8_t* output,
                     size_t room,
                     size_t* written) = 0;
};

// The functions of a compression library. All are null in a build without it.
struct CodecLibrary {
  // Returns null if there is no memory.
  std::unique_ptr<Decompressor> (*new_decompressor)();
  // Appends |bytes|, compressed. A |level| of 0 is the one that Perfetto's
  // service has by default. Returns false if there is no memory.
  bool (*compress)(protozero::ConstBytes bytes,
                   int level,
                   std::string* compressed);
};

CodecLibrary DeflateLibrary();
CodecLibrary ZstdLibrary();

// A way to compress packets, or a whole trace.
struct Codec {
  const char* name;
  // Debian's package that a build needs for it.
  const char* package;
  // The field of TracePacket that holds such packets.
  uint32_t field_id;
  // The first bytes of a compressed file.
  std::string_view magic;
  CodecLibrary library;

  bool is_built() const { return library.compress != nullptr; }
  // Returns what is missing if |is_built| is false.
  std::string WhyNotBuilt() const;
};

// The codecs that traces may have.
const std::array<Codec, 2>& Codecs();
// Returns the codec of that name, null if there is none.
const Codec* FindCodec(std::string_view name);
// Returns the codec of a field of TracePacket, null if it has none.
const Codec* CodecOfField(uint32_t field_id);

// The way in which a recording is compressed, if it is.
struct Compression {
  const Codec* codec = nullptr;
  int level = 0;
};

// The limit of what is decompressed at once: the packets of a compressed one,
// or one packet of a compressed file. Services compress much less.
inline constexpr size_t kMaxDecompressed = size_t{64} << 20;

// Appends what |bytes|, a whole stream, have in them. Returns why that is not
// possible; an empty text if it is. Then |content| may have got any bytes, at
// most |max_size|.
std::string Decompress(const Codec& codec,
                       protozero::ConstBytes bytes,
                       size_t max_size,
                       std::string* content);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_CODEC_H_
