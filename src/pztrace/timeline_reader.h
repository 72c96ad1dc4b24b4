// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TIMELINE_READER_H_
#define SRC_PZTRACE_TIMELINE_READER_H_

#include "protozero/tracing/trace_reader.h"
#include "src/pbz/schema.h"
#include "src/pztrace/arg_texts.h"

namespace pztrace {

using protozero::CounterValue;
using protozero::EventDetails;
using protozero::EventText;
using protozero::Gaps;
using protozero::Instant;
using protozero::LostStretch;
using protozero::Slice;
using protozero::TrackInfo;

// A TraceReader whose arguments of events are members of a JSON object:
// "a":1,"b":[2]
class TimelineReader : public protozero::TraceReader {
 public:
  // Sets the callbacks that format arguments and inflate packets.
  explicit TimelineReader(Callbacks callbacks);

  // The message TrackEvent, with the extensions that details have to show.
  // Null, as at first: none. Has to be there in Read().
  void set_event_type(const pbz::MessageType* type) { event_type_ = type; }

 private:
  Callbacks WithJson(Callbacks callbacks);

  const pbz::MessageType* event_type_ = nullptr;
  ArgTexts texts_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TIMELINE_READER_H_
