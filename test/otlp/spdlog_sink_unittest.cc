// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/spdlog_sink.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "test/otlp/collecting_sink.h"

namespace protozero::otlp {
namespace {

TEST(SpdlogSinkTest, WritesLinesWithTheIdsOfTheSpan) {
  CollectingSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  using NoLock = spdlog::sinks::base_sink<spdlog::details::null_mutex>;
  spdlog::logger logger(
      "shop", std::make_shared<SpdlogSink<NoLock>>(Logger(pipeline, "spdlog")));
  Span span = Tracer(pipeline, "t").StartSpan("a");
  {
    const Scope scope(span.context());
    logger.warn("{} of {}", 1, 2);
  }
  logger.log(spdlog::source_loc("file.cc", 7, "F"), spdlog::level::critical,
             "broken");
  logger.flush();
  EXPECT_TRUE(pipeline.Flush(60000));
  const auto logs = sink.logs();
  ASSERT_EQ(logs.size(), 2u);
  const otlp_schema::LogRecord::Decoder first(logs[0]), second(logs[1]);
  const otlp_schema::AnyValue::Decoder body(first.body());
  EXPECT_EQ(body.string_value().ToStdString(), "1 of 2");
  EXPECT_EQ(first.severity_number(), 13);
  EXPECT_EQ(
      first.span_id().ToStdString(),
      std::string(reinterpret_cast<const char*>(span.context().span_id.bytes),
                  8));
  EXPECT_EQ(second.severity_number(), 21);
  EXPECT_EQ(second.span_id().size, 0u);
  size_t count = 0;
  auto attributes = AttributesOf(second.attributes(), &count);
  EXPECT_EQ(attributes["logger.name"], "shop");
  EXPECT_EQ(attributes["code.file.path"], "file.cc");
  EXPECT_EQ(attributes["code.line.number"], "7");
  EXPECT_EQ(attributes["code.function.name"], "F");
}

}  // namespace
}  // namespace protozero::otlp
