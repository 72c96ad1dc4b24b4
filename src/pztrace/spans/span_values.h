// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_VALUES_H_
#define SRC_PZTRACE_SPANS_SPAN_VALUES_H_

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "protozero/message.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/otel_args.h"

namespace pztrace {

// Writes the arguments of an event as attributes: the field |attributes| of
// |record|. Those of OtelArgs go there; they are not written.
class SpanAttributes final : public program::ValueSink {
 public:
  SpanAttributes(protozero::Message* record,
                 uint32_t attributes,
                 OtelArgs* otel)
      : record_(record), attributes_(attributes), otel_(otel) {}

  void Begin(Container container) override;
  void End() override;
  void Name(std::string_view name, NameKind kind) override;
  void Add(const program::Value& value) override;

 private:
  // A dictionary or array that is open.
  struct Level {
    protozero::Message* list;
    bool is_array;
  };

  // Returns the AnyValue for the next value.
  protozero::Message* NextValue();

  protozero::Message* const record_;
  const uint32_t attributes_;
  OtelArgs* const otel_;
  std::string name_;
  std::vector<Level> levels_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_VALUES_H_
