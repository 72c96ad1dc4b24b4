// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/trace_reader_impl.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the names of data of a session, by fields of Perfetto's TracePacket.
const char* NameOfUnread(uint32_t packet_field_id) {
  switch (packet_field_id) {
    case 1:
      return "packets of ftrace";
    case 5:
      return "packets of Chrome's JSON events";
    case 7:
    case 9:
      return "packets of system statistics";
    case 37:
    case 54:
    case 66:
    case 74:
      return "packets of profiles";
    case 38:
    case 40:
      return "packets of power";
    case 39:
      return "packets of the Android log";
    case 47:
    case 51:
    case 52:
    case 53:
    case 62:
    case 67:
      return "packets of graphics";
    case 49:
    case 56:
      return "packets of heaps";
    default:
      return nullptr;
  }
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
