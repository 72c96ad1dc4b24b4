// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_VALUES_H_
#define SRC_PZTRACE_SPANS_SPAN_VALUES_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/message.h"
#include "src/otlp/protos/schema.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/otel_args.h"

namespace pztrace {

class SpanLinks;

// Writes the arguments of an event as attributes: the field |attributes| of
// |record|. Those of OtelArgs go to |otel|, and the links of a span to |links|;
// they are not written. Either may be null.
class SpanAttributes final : public program::ValueSink {
 public:
  SpanAttributes(protozero::Message* record,
                 uint32_t attributes,
                 OtelArgs* otel,
                 SpanLinks* links = nullptr)
      : record_(record), attributes_(attributes), otel_(otel), links_(links) {}

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
  SpanLinks* const links_;
  std::string name_;
  std::vector<Level> levels_;
  uint32_t depth_of_links_ =
      0;  // Containers that are open of the argument with links.
};

// Writes the argument kOtelLinks as links of a span. What it does not know is
// left out.
class SpanLinks final : public program::ValueSink {
 public:
  explicit SpanLinks(protozero::otlp_schema::Span* span) : span_(span) {}

  void Begin(Container container) override;
  void End() override;
  void Name(std::string_view name, NameKind kind) override;
  void Add(const program::Value& value) override;

  // Returns the ids of the spans that the links go to.
  const std::vector<std::string>& spans() const { return spans_; }

 private:
  // The containers: the array, the dictionary of a link, that of its
  // attributes.
  static constexpr uint32_t kLinkDepth = 2;
  static constexpr uint32_t kAttributesDepth = 3;

  protozero::otlp_schema::Span* const span_;
  protozero::otlp_schema::Span_Link* link_ = nullptr;
  std::optional<SpanAttributes> attributes_;  // The link's own.
  std::string name_;
  std::vector<std::string> spans_;
  uint32_t depth_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_VALUES_H_
