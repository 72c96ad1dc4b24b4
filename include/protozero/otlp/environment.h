// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_ENVIRONMENT_H_
#define INCLUDE_PROTOZERO_OTLP_ENVIRONMENT_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/otlp/pipeline.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The environment variables of OpenTelemetry that are about a pipeline:
//
//   OTEL_SDK_DISABLED
//   OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//   OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG
//   OTEL_ATTRIBUTE_COUNT_LIMIT, OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT
//   OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT
//   OTEL_SPAN_EVENT_COUNT_LIMIT, OTEL_SPAN_LINK_COUNT_LIMIT
//   OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT, OTEL_LINK_ATTRIBUTE_COUNT_LIMIT
//   OTEL_BSP_SCHEDULE_DELAY, OTEL_BSP_EXPORT_TIMEOUT
//   OTEL_BSP_MAX_EXPORT_BATCH_SIZE
//
// HttpExporterOptions has those of its exporter.
//
//   const otlp::Environment environment;
//   otlp::PipelineOptions options;
//   environment.Apply(&options);
//   otlp::Pipeline pipeline(options, &exporter);
//   pipeline.SetEnabled(!environment.is_disabled());
class Environment {
 public:
  // Reads the variables. An empty one is none.
  Environment();

  // Sets the options that variables are for. The attributes in
  // |options->resource| stay, and win over those of variables; texts that are
  // added refer to this object. Without a service.name, it is
  // "unknown_service".
  void Apply(PipelineOptions* options) const;

  // True if OTEL_SDK_DISABLED is "true".
  bool is_disabled() const { return is_disabled_; }
  // Returns a line for each variable that is ignored, because its value cannot
  // be used.
  const std::string& warnings() const { return warnings_; }

 private:
  const char* Find(const char* name);
  void ReadResource();
  void ReadSampler();
  // Null, with a warning, if the variable is no number, or less than |least|.
  std::optional<uint64_t> NumberOf(const char* name, uint64_t least);
  void ReadNumber(const char* name,
                  uint32_t PipelineOptions::* option,
                  uint64_t least = 0);
  void Warn(const char* fault);

  std::vector<std::pair<uint32_t PipelineOptions::*, uint32_t>> numbers_;
  std::optional<size_t> value_length_limit_;
  std::optional<Sampler> sampler_;
  bool is_disabled_ = false;
  std::string service_name_;
  std::vector<std::pair<std::string, std::string>> resource_;
  // The variable that was found last.
  std::string_view name_;
  std::string warnings_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_ENVIRONMENT_H_
