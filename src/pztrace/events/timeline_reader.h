// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_TIMELINE_READER_H_
#define SRC_PZTRACE_EVENTS_TIMELINE_READER_H_

#include <stdint.h>

#include <string>
#include <utility>

#include "protozero/tracing/trace_reader.h"
#include "src/pbz/extended_schema.h"
#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/annotation_args.h"
#include "src/pztrace/events/arg_decoder.h"
#include "src/pztrace/events/arg_encoder.h"
#include "src/pztrace/events/otel_spans.h"
#include "src/pztrace/events/thread_times.h"

namespace pztrace {

using protozero::CounterValue;
using protozero::EventDetails;
using protozero::EventFlow;
using protozero::EventText;
using protozero::Gaps;
using protozero::Instant;
using protozero::LostStretch;
using protozero::Slice;
using protozero::TaskPlace;
using protozero::TaskStep;
using protozero::TrackInfo;

// A TraceReader that encodes the arguments of events, and decodes them for
// those who need them.
class TimelineReader : public protozero::TraceReader {
 public:
  // Sets the callbacks that encode arguments. If it |finds_spans|, it gathers
  // the spans of OpenTelemetry of a trace that has no tasks.
  explicit TimelineReader(Callbacks callbacks, bool finds_spans = false);

  // Sets the schema that arguments are read with. The reader adds the trace's
  // descriptions of extensions to it. It may be null, which is the default.
  void set_schema(pbz::ExtendedSchema* schema) {
    arg_schema_ = {schema, nullptr};
  }

  // Returns the spans that it has gathered, which it forgets.
  OtelSpans TakeSpans() { return std::exchange(spans_, {}); }

  // Counts the extensions of events that nothing describes, in arguments.
  uint64_t undescribed() const { return num_undescribed_; }
  // Sets what gets the packets from the kernel. It may be null, which is the
  // default.
  void set_times(ThreadTimes* times) { times_ = times; }

  // Gives the arguments of an event to |sink|, see DecodeArgs(). REQUIRES: this
  // reader has encoded them, or an ArgEncoder without texts.
  void ReadArgs(const EventDetails& details,
                UniqueNames unique_names,
                program::ValueSink* sink) const {
    DecodeArgs(details.args, texts_, unique_names, sink);
  }
  // Appends the arguments as members of a JSON object: "a":1,"b":[2]
  void AppendArgs(const EventDetails& details, std::string* json) const {
    program::JsonValues values(json);
    ReadArgs(details, UniqueNames::kByText, &values);
  }

 private:
  Callbacks WithSpans(Callbacks callbacks, bool finds_spans);
  Callbacks WithArgs(Callbacks callbacks, bool formats_args);

  ArgSchema arg_schema_;  // Without an event if it has to be found again.
  ArgTexts texts_;
  uint64_t num_undescribed_ = 0;
  ThreadTimes* times_ = nullptr;
  bool has_tasks_ = false;
  OtelSpans spans_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TIMELINE_READER_H_
