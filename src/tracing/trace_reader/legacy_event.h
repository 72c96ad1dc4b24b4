// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_
#define SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_

#include "protozero/const_bytes.h"
#include "src/tracing/trace_reader/read_event.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Reads a TrackEvent.LegacyEvent, and gives |sink| what it says. |event| is the
// TrackEvent that it is a part of.
void ReadLegacyEvent(ConstBytes legacy_event,
                     const ReadEvent& event,
                     const EventParts& parts,
                     ReadEventSink* sink);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_
