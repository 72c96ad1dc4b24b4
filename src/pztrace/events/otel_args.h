// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_OTEL_ARGS_H_
#define SRC_PZTRACE_EVENTS_OTEL_ARGS_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/program/value_sink.h"

namespace pztrace {

// The argument with the links of a span: an array of dictionaries with the
// texts "trace_id", "span_id" and "trace_state", the number
// "dropped_attributes" and the dictionary "attributes".
constexpr char kOtelLinks[] = "otel.links";

// Returns the bytes of an id of |size| bytes in hexadecimal; empty if it is
// none, as one of zeros is.
std::string OtelIdOf(std::string_view hex, size_t size);

// The arguments of an event that begin with "otel.", which files of
// OpenTelemetry that were read as traces have.
struct OtelArgs {
  std::string trace_id;  // Bytes; empty if there is none.
  std::string span_id;
  std::string parent_id;
  std::string trace_state;
  std::string status_message;
  std::string severity_text;
  std::optional<std::string> body;
  uint32_t kind = 0;
  uint32_t status = 0;
  int32_t severity = 0;
  uint32_t dropped_attributes = 0;
  uint32_t dropped_events = 0;
  uint32_t dropped_links = 0;

  // Sets the field of that argument. Returns false if it is not one of them.
  bool Take(std::string_view name, const program::Value& value);
};

// Sets OtelArgs from the arguments of an event.
class OtelArgsSink final : public program::ValueSink {
 public:
  explicit OtelArgsSink(OtelArgs* otel) : otel_(otel) {}

  void Begin(Container) override { ++depth_; }
  void End() override { --depth_; }
  void Name(std::string_view name, NameKind) override {
    if (depth_ == 0)
      name_ = name;
  }
  void Add(const program::Value& value) override {
    if (depth_ == 0)
      otel_->Take(name_, value);
  }

 private:
  OtelArgs* const otel_;
  std::string name_;
  uint32_t depth_ = 0;  // The dictionaries and arrays that are open.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_OTEL_ARGS_H_
