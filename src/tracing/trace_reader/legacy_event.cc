// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/legacy_event.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void ReadLegacyEvent(ConstBytes, const ReadEvent&, EventReader* reader) {
  reader->AddUnread("legacy events");
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
