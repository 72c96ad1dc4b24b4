// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/timeline_reader.h"

#include <string>
#include <utility>

#include "protozero/tracing/trace.h"
#include "src/pztrace/annotation_json.h"
#include "src/pztrace/extension_json.h"

namespace pztrace {

TimelineReader::TimelineReader(Callbacks callbacks)
    : TraceReader(WithJson(std::move(callbacks))) {}

TimelineReader::Callbacks TimelineReader::WithJson(Callbacks callbacks) {
  callbacks.format_args = [this](const protozero::EventArgs& args,
                                 std::string* members) {
    const protozero::trace::TrackEvent::Decoder event(args.event());
    for (const auto annotation : event.debug_annotations())
      AppendMember(annotation, args, members);
    if (event_type_ != nullptr)
      AppendExtensions(args.event(), *event_type_, members);
  };
  return callbacks;
}

}  // namespace pztrace
