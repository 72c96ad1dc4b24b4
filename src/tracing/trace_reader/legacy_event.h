// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_
#define SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_

#include <optional>

#include "protozero/const_bytes.h"
#include "src/tracing/trace_reader/read_event.h"
#include "src/tracing/trace_reader/sequence_state.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Reads a TrackEvent.LegacyEvent, a part of the TrackEvent |*event|. Gives
// |sink| the event, if it is one of the JSON format. Otherwise adds to |*event|
// and returns false.
bool ReadLegacyEvent(ConstBytes legacy_event,
                     const EventParts& parts,
                     ReadEventSink* sink,
                     ReadEvent* event);

// Returns the track of the thread that a LegacyEvent names in place of the
// sequence's. Returns nothing if it names none.
std::optional<TrackIndex> OtherThreadOf(ConstBytes legacy_event,
                                        const SequenceState& sequence,
                                        TrackTable* tracks);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_LEGACY_EVENT_H_
