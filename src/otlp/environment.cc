// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/environment.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/otlp/percent_decoding.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace {

bool IsDecimalDigit(char c) {
  return c >= '0' && c <= '9';
}

// Reads a number without a sign, such as 0.25 or 1e-3, with a point also where
// the program's locale has a comma. It may be off in the last bit.
bool ReadDecimal(std::string_view text, double* number) {
  constexpr int kMaxExponent = 400;
  *number = 0;
  int exponent = 0;
  bool has_digit = false;
  bool has_point = false;
  size_t i = 0;
  for (; i < text.size() && (IsDecimalDigit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.' && has_point)
      return false;
    if (text[i] == '.') {
      has_point = true;
      continue;
    }
    *number = *number * 10 + (text[i] - '0');
    exponent -= has_point ? 1 : 0;
    has_digit = true;
  }
  if (i != text.size() && has_digit) {
    const size_t sign = i + 1;
    if ((text[i] != 'e' && text[i] != 'E') || sign == text.size())
      return false;
    const bool is_negative = text[sign] == '-';
    i = sign + (is_negative || text[sign] == '+' ? 1 : 0);
    has_digit = false;
    int written = 0;
    for (; i < text.size() && IsDecimalDigit(text[i]); ++i) {
      written = std::min(written * 10 + (text[i] - '0'), kMaxExponent);
      has_digit = true;
    }
    exponent += is_negative ? -written : written;
  }
  for (; exponent < 0; ++exponent)
    *number /= 10;
  for (; exponent > 0; --exponent)
    *number *= 10;
  return has_digit && i == text.size();
}

}  // namespace

Environment::Environment() {
  if (const char* text = Find("OTEL_SDK_DISABLED")) {
    const std::string word = internal::LowerCase(text);
    is_disabled_ = word == "true";
    if (!is_disabled_ && word != "false")
      Warn("is neither true nor false");
  }
  if (const char* text = Find("OTEL_SERVICE_NAME"))
    service_name_ = text;
  ReadResource();
  ReadSampler();
  // The general limits come first: those of spans win.
  using Options = PipelineOptions;
  ReadNumber("OTEL_ATTRIBUTE_COUNT_LIMIT", &Options::attribute_count_limit);
  ReadNumber("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
             &Options::attribute_count_limit);
  ReadNumber("OTEL_SPAN_EVENT_COUNT_LIMIT", &Options::event_count_limit);
  ReadNumber("OTEL_SPAN_LINK_COUNT_LIMIT", &Options::link_count_limit);
  ReadNumber("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT",
             &Options::attribute_per_event_count_limit);
  ReadNumber("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
             &Options::attribute_per_link_count_limit);
  ReadNumber("OTEL_BSP_SCHEDULE_DELAY", &Options::export_interval_ms, 1);
  ReadNumber("OTEL_BSP_EXPORT_TIMEOUT", &Options::export_timeout_ms, 1);
  ReadNumber("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", &Options::max_batch_count, 1);
  for (const char* name : {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
                           "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"}) {
    if (const std::optional<uint64_t> number = NumberOf(name, 0))
      value_length_limit_ = static_cast<size_t>(*number);
  }
}

void Environment::Apply(PipelineOptions* options) const {
  // The last one of a key counts, so the program's own follow.
  std::vector<Attribute> resource;
  resource.push_back({"service.name", "unknown_service"});
  for (const auto& [key, value] : resource_)
    resource.push_back({key, std::string_view(value)});
  if (!service_name_.empty())
    resource.push_back({"service.name", std::string_view(service_name_)});
  resource.insert(resource.end(), options->resource.begin(),
                  options->resource.end());
  options->resource = std::move(resource);

  for (const auto& [option, value] : numbers_)
    options->*option = value;
  if (value_length_limit_)
    options->attribute_value_length_limit = *value_length_limit_;
  if (sampler_)
    options->sampler = *sampler_;
}

const char* Environment::Find(const char* name) {
  const char* const text = getenv(name);
  if (text == nullptr || *text == '\0')
    return nullptr;
  name_ = name;
  return text;
}

// Only commas, equals signs and percent signs need a percent sign.
void Environment::ReadResource() {
  const char* const text = Find("OTEL_RESOURCE_ATTRIBUTES");
  if (text == nullptr)
    return;
  const auto add = [this](std::string_view key, std::string_view value) {
    auto& [decoded_key, decoded_value] = resource_.emplace_back();
    return internal::AppendPercentDecoded(key, &decoded_key) &&
           internal::AppendPercentDecoded(value, &decoded_value) &&
           !decoded_key.empty();
  };
  if (!internal::ForEachPair(text, add)) {
    resource_.clear();
    Warn("is not KEY=VALUE,...");
  }
}

void Environment::ReadSampler() {
  const char* const text = Find("OTEL_TRACES_SAMPLER");
  if (text == nullptr)
    return;
  const std::string word = internal::LowerCase(text);
  std::string_view name(word);
  constexpr std::string_view kParentBased = "parentbased_";
  const bool is_parent_based =
      name.substr(0, kParentBased.size()) == kParentBased;
  if (is_parent_based)
    name.remove_prefix(kParentBased.size());
  Sampler sampler = Sampler::AlwaysOn();
  if (name == "always_off") {
    sampler = Sampler::AlwaysOff();
  } else if (name == "traceidratio") {
    double share = 1;
    if (const char* number = Find("OTEL_TRACES_SAMPLER_ARG")) {
      if (!ReadDecimal(number, &share) || share > 1) {
        Warn("is no number from 0 to 1");
        share = 1;
      }
    }
    sampler = Sampler::Ratio(share);
  } else if (name != "always_on") {
    return Warn("is no sampler that there is");
  }
  sampler_ = is_parent_based ? Sampler::ParentBased(sampler) : sampler;
}

std::optional<uint64_t> Environment::NumberOf(const char* name,
                                              uint64_t least) {
  const char* const text = Find(name);
  if (text == nullptr)
    return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  // It would take a minus sign.
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
      value >= least)
    return value;
  Warn(least == 0 ? "is no number" : "is no number above 0");
  return std::nullopt;
}

void Environment::ReadNumber(const char* name,
                             uint32_t PipelineOptions::* option,
                             uint64_t least) {
  if (const std::optional<uint64_t> number = NumberOf(name, least)) {
    numbers_.emplace_back(
        option, static_cast<uint32_t>(std::min<uint64_t>(*number, UINT32_MAX)));
  }
}

void Environment::Warn(const char* fault) {
  ((warnings_ += name_) += ' ') += fault;
  warnings_ += ": it is ignored\n";
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
