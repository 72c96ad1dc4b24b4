// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_TIMELINE_READER_H_
#define SRC_PZTRACE_EVENTS_TIMELINE_READER_H_

#include "protozero/tracing/trace_reader.h"
#include "src/pbz/extended_schema.h"
#include "src/pztrace/events/annotation_json.h"
#include "src/pztrace/events/arg_texts.h"

namespace pztrace {

using protozero::CounterValue;
using protozero::EventDetails;
using protozero::EventText;
using protozero::Gaps;
using protozero::Instant;
using protozero::LostStretch;
using protozero::Slice;
using protozero::TaskPlace;
using protozero::TaskStep;
using protozero::TrackInfo;

// A TraceReader that gives the arguments of events as members of a JSON object:
// "a":1,"b":[2]
class TimelineReader : public protozero::TraceReader {
 public:
  // Sets the callbacks that format arguments.
  explicit TimelineReader(Callbacks callbacks);

  // Sets the schema that arguments are read with. The reader adds the trace's
  // descriptions of extensions to it. It may be null, which is the default.
  void set_schema(pbz::ExtendedSchema* schema) {
    arg_schema_ = {schema, nullptr};
  }

 private:
  Callbacks WithJson(Callbacks callbacks);

  ArgSchema arg_schema_;  // Without an event if it has to be found again.
  ArgTexts texts_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TIMELINE_READER_H_
