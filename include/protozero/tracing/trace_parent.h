// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_PARENT_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_PARENT_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The header `traceparent` of W3C Trace Context, by which a request is known in
// all programs that it passes through:
//
//   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//   |  trace id                         parent id        flags
//   version
//
//   if (const auto parent = TraceParent::Parse(header)) {
//     SetTaskRequest(parent->TraceId().view());
//     request.set_header("traceparent", parent->WithParent(span_id).Text());
//   }
//
// Neither throws nor allocates. Any thread.
class TraceParent {
 public:
  // The size of the header.
  static constexpr size_t kSize = 55;
  // A text of a fixed size.
  template <size_t kTextSize>
  struct FixedText {
    std::string_view view() const { return {text, kTextSize}; }
    operator std::string_view() const { return view(); }
    char text[kTextSize];
  };

  // Returns null if the text is no such header. Of a version after 00, it takes
  // the parts that version 00 has.
  static std::optional<TraceParent> Parse(std::string_view text) {
    if (text.size() < kSize)
      return std::nullopt;
    TraceParent parent;
    uint8_t version = 0;
    if (!ParseHex(text.substr(0, 2), &version) || text[2] != '-' ||
        !ParseHex(text.substr(3, 32), parent.trace_id_) || text[35] != '-' ||
        !ParseHex(text.substr(36, 16), parent.parent_id_) || text[52] != '-' ||
        !ParseHex(text.substr(53, 2), &parent.flags_)) {
      return std::nullopt;
    }
    const bool is_longer = text.size() > kSize;
    if (version == 0xff || (version == 0 && is_longer) ||
        (is_longer && text[kSize] != '-') || IsZero(parent.trace_id_) ||
        IsZero(parent.parent_id_)) {
      return std::nullopt;
    }
    return parent;
  }

  // Returns the header, of version 00.
  FixedText<kSize> Text() const {
    FixedText<kSize> text;
    char* pos = AppendHex(&kVersion, 1, text.text);
    *pos++ = '-';
    pos = AppendHex(trace_id_, sizeof(trace_id_), pos);
    *pos++ = '-';
    pos = AppendHex(parent_id_, sizeof(parent_id_), pos);
    *pos++ = '-';
    // Later versions may have flags that only they know.
    const uint8_t flags = flags_ & kSampled;
    AppendHex(&flags, 1, pos);
    return text;
  }
  // Returns the id of the whole request.
  FixedText<32> TraceId() const {
    FixedText<32> text;
    AppendHex(trace_id_, sizeof(trace_id_), text.text);
    return text;
  }

  // Returns the header for a call to another program, whose parent is |span|.
  // REQUIRES: |span| is not 0.
  TraceParent WithParent(uint64_t span) const {
    TraceParent parent = *this;
    for (int i = 7; i >= 0; --i, span >>= 8)
      parent.parent_id_[i] = static_cast<uint8_t>(span);
    return parent;
  }

  // Returns whether the caller may have recorded the request.
  bool is_sampled() const { return (flags_ & kSampled) != 0; }

 private:
  static constexpr uint8_t kVersion = 0;
  static constexpr uint8_t kSampled = 1;

  TraceParent() = default;

  // Upper case is not allowed.
  static int DigitOf(char letter) {
    if (letter >= '0' && letter <= '9')
      return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
  }
  static bool ParseHex(std::string_view text, uint8_t* bytes) {
    for (size_t i = 0; i < text.size(); i += 2) {
      const int high = DigitOf(text[i]);
      const int low = DigitOf(text[i + 1]);
      if (high < 0 || low < 0)
        return false;
      bytes[i / 2] = static_cast<uint8_t>(high << 4 | low);
    }
    return true;
  }
  static char* AppendHex(const uint8_t* bytes, size_t size, char* pos) {
    for (size_t i = 0; i < size; ++i) {
      *pos++ = "0123456789abcdef"[bytes[i] >> 4];
      *pos++ = "0123456789abcdef"[bytes[i] & 15];
    }
    return pos;
  }
  template <size_t kBytes>
  static bool IsZero(const uint8_t (&bytes)[kBytes]) {
    for (const uint8_t byte : bytes) {
      if (byte != 0)
        return false;
    }
    return true;
  }

  uint8_t trace_id_[16] = {};
  uint8_t parent_id_[8] = {};
  uint8_t flags_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_PARENT_H_
