// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_EVENT_ARGS_H_
#define SRC_PZTRACE_EVENTS_EVENT_ARGS_H_

#include <stdint.h>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/events/annotation_args.h"
#include "src/pztrace/events/arg_encoder.h"

namespace pztrace {

// Adds everything that is shown of an event, besides its name, categories, time
// and flows, as members of a dictionary: debug annotations, the source
// location, the correlation id, details of Chrome's events, and extensions.
// Names may be repeated. Returns the number of extensions that nothing
// describes.
uint64_t AddEventArgs(const protozero::EventArgs& event,
                      const ArgSchema& schema,
                      ArgEncoder* args);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_EVENT_ARGS_H_
