// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/input_kind.h"

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using protozero::ConstBytes;
using protozero::DecodeStatus;
using protozero::ProtoDecoder;

// The first bytes of compressed files. Messages begin with none of them but
// zstd's, and with that one seldom.
struct Compression {
  const char* program;
  std::string_view magic;
};
constexpr Compression kCompressions[] = {
    {"gzip", "\x1f\x8b"}, {"zstd", "\x28\xb5\x2f\xfd"}, {"xz", "\xfd\x37zXZ"},
    {"bzip2", "BZh"},     {"lz4", "\x04\x22\x4d\x18"},
};
// The string BZh may also be the beginning of a message. In a bzip2 file, the
// block size and the digits of pi follow it.
constexpr std::string_view kBzip2Block = "\x31\x41\x59\x26\x53\x59";
constexpr size_t kBzip2BlockOffset = 4;

bool IsMessage(ConstBytes bytes) {
  ProtoDecoder decoder(bytes);
  while (decoder.ReadField().valid()) {
  }
  return decoder.status() == DecodeStatus::kOk;
}

// Returns whether |bytes| are messages, each after its size. If |bytes| are
// only the beginning of a file, they have to hold at least two whole messages.
bool IsStream(ConstBytes bytes, bool is_whole) {
  int num_messages = 0;  // The number without empty ones.
  const uint8_t* at = bytes.data;
  const uint8_t* const end = at + bytes.size;
  while (at != end) {
    uint64_t size = 0;
    const uint8_t* next = protozero::proto_utils::ParseVarInt(at, end, &size);
    if (next == at || size > static_cast<uint64_t>(end - next))
      return !is_whole && num_messages > 1;
    if (!IsMessage(ConstBytes(next, static_cast<size_t>(size))))
      return false;
    num_messages += size != 0;
    at = next + size;
  }
  return num_messages > (is_whole ? 0 : 1);
}

// Returns |word| in the form that a shell reads as one word.
std::string Quoted(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@";
  if (word.find_first_not_of(kPlain) == std::string::npos)
    return word;
  std::string quoted = "'";
  for (const char c : word)
    c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + '\'';
}

// Returns the command that unpacks |file| and passes its bytes to |reader|.
std::string HowToUnpack(const char* compression,
                        const std::string& file,
                        const std::string& reader) {
  const std::string command = std::string(compression) + " -dc";
  return file == "-" ? "is compressed; pipe it through " + command
                     : "is compressed; try " + command + ' ' + Quoted(file) +
                           " | " + reader + " -";
}

}  // namespace

const char* CompressionOf(ConstBytes bytes) {
  const std::string_view text = bytes.ToStdStringView();
  for (const Compression& compression : kCompressions) {
    const std::string_view magic = compression.magic;
    if (text.substr(0, magic.size()) != magic)
      continue;
    if (magic == "BZh" &&
        (text.size() < kBzip2BlockOffset ||
         text.substr(kBzip2BlockOffset, kBzip2Block.size()) != kBzip2Block)) {
      continue;
    }
    return compression.program;
  }
  return nullptr;
}

std::string WhyNoMessage(ConstBytes bytes,
                         bool is_whole,
                         const std::string& file,
                         const std::string& reader) {
  if (bytes.size == 0)
    return "is empty";
  if (is_whole && IsMessage(bytes))
    return "";
  if (const char* compression = CompressionOf(bytes))
    return HowToUnpack(compression, file, reader);
  const std::string_view text = bytes.ToStdStringView();
  // The bytes may end in the middle of a character.
  constexpr size_t kMaxCharacter = 4;
  if (!program::IsText(text) &&
      (is_whole ||
       !program::IsText(text.substr(0, text.size() - kMaxCharacter)))) {
    return "";
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && (text[begin] == '{' || text[begin] == '['))
    return "is JSON, not a binary message of protobuf";
  return "is text, not a binary message of protobuf";
}

std::string WhyUnreadable(ConstBytes bytes,
                          bool is_whole,
                          Framing framing,
                          const std::string& file,
                          const char* option) {
  const bool is_message = IsMessage(bytes);
  const char* compression = CompressionOf(bytes);
  if (compression && !(is_whole && is_message)) {
    return HowToUnpack(compression, file, "pbz ...");
  }
  const bool is_stream = IsStream(bytes, is_whole);
  if (framing == Framing::kOneMessage && is_stream && !is_message)
    return std::string("is a stream of messages, each after its size; try ") +
           option;
  if (framing == Framing::kDelimited && is_message && !is_stream &&
      bytes.size != 0) {
    return std::string("is one message, without its size; try without ") +
           option;
  }
  return std::string();
}

}  // namespace pbz
