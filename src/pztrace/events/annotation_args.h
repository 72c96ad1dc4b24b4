// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_ANNOTATION_ARGS_H_
#define SRC_PZTRACE_EVENTS_ANNOTATION_ARGS_H_

#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/schema.h"
#include "src/pztrace/events/arg_encoder.h"

namespace pztrace {

// Returns the text of |entry|, a message of InternedData. Returns "?" if it is
// null, which means that the sequence has not interned it.
std::string_view InternedText(protozero::ConstBytes entry);

// The schema of arguments. Without one, which is the default, only arguments
// that are part of each trace's schema are read.
struct ArgSchema {
  pbz::ExtendedSchema* messages = nullptr;
  const pbz::MessageType* event = nullptr;  // The message TrackEvent.
};

// Adds a DebugAnnotation of |event| as a member of a dictionary. A malformed
// one is null. A message that the schema does not have becomes its type and its
// bytes, like an Any in protobuf's JSON:
// {"@type":"a.B","value":"CAE="}
void AddAnnotation(protozero::ConstBytes annotation,
                   const protozero::EventArgs& event,
                   const ArgSchema& schema,
                   ArgEncoder* args);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_ANNOTATION_ARGS_H_
