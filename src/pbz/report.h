// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_REPORT_H_
#define SRC_PBZ_REPORT_H_

#include <functional>

#include "src/pbz/field_stream.h"
#include "src/pbz/schema.h"
#include "src/pbz/walk.h"

namespace pbz {

// Walks through all fields of |stream|, a message of |type|, which may be null.
// Reports malformed bytes on the standard error. The lines begin with |program|
// and |file|; a file with a lot of damage is reported by its first lines. Stops
// early if the standard output can not be written to. Returns whether all is
// well.
bool WalkAndReport(const char* program,
                   const char* file,
                   const MessageType* type,
                   FieldStream* stream,
                   Visitor* visitor);

// The same. |type| returns the type of the message, as far as it is known, for
// fields that come next; it is called for each run of them.
bool WalkAndReport(
    const char* program,
    const char* file,
    const std::function<const MessageType*(protozero::ConstBytes)>& type,
    FieldStream* stream,
    Visitor* visitor);

}  // namespace pbz

#endif  // SRC_PBZ_REPORT_H_
