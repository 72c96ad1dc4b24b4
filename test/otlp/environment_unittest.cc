// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/environment.h"

#include <stdlib.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using protozero::otlp::Environment;
using protozero::otlp::PipelineOptions;
using protozero::otlp::SpanContext;
using protozero::otlp::TraceId;

class EnvironmentTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : names_)
      unsetenv(name.c_str());
  }
  void Set(const char* name, const char* value) {
    setenv(name, value, 1);
    names_.push_back(name);
  }

  // The last value of each key.
  static std::map<std::string, std::string> ResourceOf(
      const PipelineOptions& options) {
    std::map<std::string, std::string> resource;
    for (const protozero::otlp::Attribute& attribute : options.resource)
      resource[std::string(attribute.key)] = attribute.value.text();
    return resource;
  }

  // Returns how many of 1,000 traces are sampled.
  static int SampledOf(const PipelineOptions& options,
                       const SpanContext* parent = nullptr) {
    int sampled = 0;
    for (uint32_t i = 0; i < 1000; ++i) {
      TraceId id;
      const uint32_t random = i * 2654435761u;
      for (int byte = 0; byte < 4; ++byte) {
        id.bytes[8 + byte] = static_cast<uint8_t>(random >> (24 - 8 * byte));
      }
      sampled += options.sampler.IsSampled(id, parent);
    }
    return sampled;
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(EnvironmentTest, NothingIsSet) {
  Set("OTEL_SERVICE_NAME", "");
  Set("OTEL_SPAN_LINK_COUNT_LIMIT", "");
  const Environment environment;
  PipelineOptions options;
  options.link_count_limit = 3;
  environment.Apply(&options);
  EXPECT_EQ(ResourceOf(options), (std::map<std::string, std::string>{
                                     {"service.name", "unknown_service"}}));
  EXPECT_EQ(options.link_count_limit, 3u);
  EXPECT_EQ(options.attribute_count_limit, 128u);
  EXPECT_EQ(SampledOf(options), 1000);
  EXPECT_FALSE(environment.is_disabled());
  EXPECT_EQ(environment.warnings(), "");
}

TEST_F(EnvironmentTest, TheProgramsOwnResourceWins) {
  Set("OTEL_SERVICE_NAME", "shop");
  Set("OTEL_RESOURCE_ATTRIBUTES",
      "service.name=other,region=a%2Cb, zone = z ,mine=theirs");
  const Environment environment;
  PipelineOptions options;
  options.resource = {{"mine", "mine"}};
  environment.Apply(&options);
  EXPECT_EQ(ResourceOf(options),
            (std::map<std::string, std::string>{{"service.name", "shop"},
                                                {"region", "a,b"},
                                                {"zone", "z"},
                                                {"mine", "mine"}}));
  options.resource = {{"service.name", "program"}};
  environment.Apply(&options);
  EXPECT_EQ(ResourceOf(options)["service.name"], "program");
}

TEST_F(EnvironmentTest, ResourceAttributesMayHaveAnyCharacter) {
  std::string many = "team%20name=Z\xc3\xbcrich west;x, a%3Db = c=d ,";
  for (int i = 0; i < 100; ++i)
    many += "key" + std::to_string(i) + "=value,";
  Set("OTEL_RESOURCE_ATTRIBUTES", many.c_str());
  const Environment environment;
  EXPECT_EQ(environment.warnings(), "");
  PipelineOptions options;
  environment.Apply(&options);
  auto resource = ResourceOf(options);
  EXPECT_EQ(resource["team name"], "Z\xc3\xbcrich west;x");
  EXPECT_EQ(resource["a=b"], "c=d");
  EXPECT_EQ(resource["key99"], "value");
  EXPECT_EQ(resource.size(), 103u);
}

TEST_F(EnvironmentTest, SharesOfSamplers) {
  Set("OTEL_TRACES_SAMPLER", "traceidratio");
  for (const char* share :
       {"0.25", ".25", "00.250", "25e-2", "2.5E-1", "0.0025e+2", "25000e-5"}) {
    SCOPED_TRACE(share);
    Set("OTEL_TRACES_SAMPLER_ARG", share);
    const Environment environment;
    EXPECT_EQ(environment.warnings(), "");
    PipelineOptions options;
    environment.Apply(&options);
    EXPECT_NEAR(SampledOf(options), 250, 30);
  }
  for (const char* share :
       {"-0.5", "1.1", "1e1", "1e999999999", "0,5", "0.5x", "0.5e", "0.5e+",
        ".", "e1", "1.2.3", "nan", "inf", "0x1", " 1"}) {
    SCOPED_TRACE(share);
    Set("OTEL_TRACES_SAMPLER_ARG", share);
    EXPECT_EQ(Environment().warnings(),
              "OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: it is "
              "ignored\n");
  }
}

TEST_F(EnvironmentTest, Samplers) {
  SpanContext sampled;
  sampled.flags = SpanContext::kSampled;
  const SpanContext not_sampled;
  struct Case {
    const char* name;
    const char* arg;
    int roots;
    int with_sampled;
    int with_not_sampled;
  };
  for (const Case& c :
       {Case{"always_on", "", 1000, 1000, 1000},
        Case{"always_off", "", 0, 0, 0},
        Case{"traceidratio", "0.25", 250, 250, 250},
        Case{"traceidratio", "", 1000, 1000, 1000},
        Case{"traceidratio", "0", 0, 0, 0},
        Case{"parentbased_always_on", "", 1000, 1000, 0},
        Case{"ParentBased_Always_OFF", "", 0, 1000, 0},
        Case{"parentbased_traceidratio", "0.5", 500, 1000, 0}}) {
    SCOPED_TRACE(std::string(c.name) + " " + c.arg);
    Set("OTEL_TRACES_SAMPLER", c.name);
    Set("OTEL_TRACES_SAMPLER_ARG", c.arg);
    const Environment environment;
    EXPECT_EQ(environment.warnings(), "");
    PipelineOptions options;
    environment.Apply(&options);
    EXPECT_NEAR(SampledOf(options), c.roots, 30);
    EXPECT_NEAR(SampledOf(options, &sampled), c.with_sampled, 30);
    EXPECT_NEAR(SampledOf(options, &not_sampled), c.with_not_sampled, 30);
  }
}

TEST_F(EnvironmentTest, Limits) {
  Set("OTEL_ATTRIBUTE_COUNT_LIMIT", "7");
  Set("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "128");
  Set("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "99");
  Set("OTEL_SPAN_EVENT_COUNT_LIMIT", "0");
  Set("OTEL_SPAN_LINK_COUNT_LIMIT", "99999999999");
  Set("OTEL_BSP_SCHEDULE_DELAY", "5000");
  Set("OTEL_SDK_DISABLED", "TRUE");
  const Environment environment;
  EXPECT_EQ(environment.warnings(), "");
  EXPECT_TRUE(environment.is_disabled());
  PipelineOptions options;
  options.attribute_count_limit = 50;
  environment.Apply(&options);
  EXPECT_EQ(options.attribute_count_limit, 128u);
  EXPECT_EQ(options.attribute_value_length_limit, 99u);
  EXPECT_EQ(options.event_count_limit, 0u);
  EXPECT_EQ(options.link_count_limit, UINT32_MAX);
  EXPECT_EQ(options.export_interval_ms, 5000u);
}

TEST_F(EnvironmentTest, WhatCannotBeUsedIsIgnoredWithAWarning) {
  struct Case {
    const char* name;
    const char* value;
    const char* warning;
  };
  for (const Case& c :
       {Case{"OTEL_SDK_DISABLED", "yes", "is neither true nor false"},
        Case{"OTEL_RESOURCE_ATTRIBUTES", "a", "is not KEY=VALUE"},
        Case{"OTEL_RESOURCE_ATTRIBUTES", "=a", "is not KEY=VALUE"},
        Case{"OTEL_RESOURCE_ATTRIBUTES", "a=%4", "is not KEY=VALUE"},
        Case{"OTEL_TRACES_SAMPLER", "sometimes", "is no sampler"},
        Case{"OTEL_SPAN_LINK_COUNT_LIMIT", "-1", "is no number"},
        Case{"OTEL_SPAN_LINK_COUNT_LIMIT", "1k", "is no number"},
        Case{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1.5", "is no number"},
        Case{"OTEL_BSP_SCHEDULE_DELAY", "0", "is no number above 0"},
        Case{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0", "is no number above 0"}}) {
    SCOPED_TRACE(std::string(c.name) + "=" + c.value);
    Set(c.name, c.value);
    const Environment environment;
    EXPECT_EQ(
        environment.warnings().find(std::string(c.name) + " " + c.warning), 0u)
        << environment.warnings();
    PipelineOptions options;
    environment.Apply(&options);
    EXPECT_EQ(options.link_count_limit, 128u);
    EXPECT_EQ(options.export_interval_ms, 1000u);
    EXPECT_EQ(options.max_batch_count, 512u);
    EXPECT_FALSE(environment.is_disabled());
    unsetenv(c.name);
  }
  Set("OTEL_TRACES_SAMPLER", "traceidratio");
  Set("OTEL_TRACES_SAMPLER_ARG", "2");
  const Environment environment;
  EXPECT_EQ(environment.warnings().find("OTEL_TRACES_SAMPLER_ARG is no number"),
            0u);
}

}  // namespace
