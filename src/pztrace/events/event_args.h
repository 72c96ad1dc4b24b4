// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_EVENT_ARGS_H_
#define SRC_PZTRACE_EVENTS_EVENT_ARGS_H_

#include <string>
#include <string_view>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/events/annotation_json.h"
#include "src/pztrace/events/arg_texts.h"

namespace pztrace {

// Appends everything that is shown of an event, besides its name, categories,
// time and flows, as members of a JSON object with commas between them: debug
// annotations, the source location, the correlation id, details of Chrome's
// events, and extensions. Names may be repeated.
void AppendEventArgs(const protozero::EventArgs& event,
                     const ArgSchema& schema,
                     ArgTexts* texts,
                     std::string* members);

// Returns whether a member of that name is a field of the event, and no debug
// annotation, unless one has the same name.
bool IsEventField(std::string_view member);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_EVENT_ARGS_H_
