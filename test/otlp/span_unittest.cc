// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <string>

#include <gtest/gtest.h>

#include "protozero/otlp/log.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"

namespace protozero::otlp {
namespace {

class Nowhere : public BatchSink {
 public:
  ExportResult Export(const Batch& batch) override {
    bytes.append(reinterpret_cast<const char*>(batch.data), batch.size);
    return ExportResult::Exported(batch);
  }
  std::string bytes;
};

TEST(SpanTest, IsExported) {
  Nowhere sink;
  PipelineOptions options;
  options.resource = {{"service.name", "test"}};
  Pipeline pipeline(options, &sink);
  Tracer tracer(pipeline, "tracer");
  tracer.StartSpan("name").SetAttribute("a", 1).SetAttribute("b", "two");
  EXPECT_TRUE(pipeline.Flush(10000));
  EXPECT_EQ(pipeline.Spans().written, 1u);
  EXPECT_EQ(pipeline.Spans().exported, 1u);
  EXPECT_NE(sink.bytes.find("name"), std::string::npos);
}

}  // namespace
}  // namespace protozero::otlp
