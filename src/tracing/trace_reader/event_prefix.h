// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_EVENT_PREFIX_H_
#define SRC_TRACING_TRACE_READER_EVENT_PREFIX_H_

#include <stdint.h>

#include "protozero/const_bytes.h"
#include "protozero/proto_utils.h"
#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns whether |packet| is an event, and nothing but numbers with tags of
// one byte is before that, as in nearly all packets. Then it has no other field
// of the same oneof, such as a description of a track, and need not be searched
// for one.
inline bool BeginsWithEvent(ConstBytes packet) {
  constexpr uint32_t kEventTag = proto_utils::MakeTagLengthDelimited(
      trace::TracePacket::kTrackEventFieldNumber);
  static_assert(kEventTag < 0x80, "a tag has one byte");
  // The wire type of a varint is 0.
  constexpr uint8_t kLongTagOrOtherType = 0x87;
  const uint8_t* pos = packet.data;
  const uint8_t* const end = pos + packet.size;
  while (pos != end && *pos != kEventTag) {
    if ((*pos++ & kLongTagOrOtherType) != 0)
      return false;
    while (pos != end && (*pos & 0x80) != 0)
      ++pos;
    if (pos != end)
      ++pos;
  }
  return pos != end;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_EVENT_PREFIX_H_
