// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/otlp/log.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "test/testing/allocation_monitor.h"

namespace protozero::otlp {
namespace {

class NoSink : public BatchSink {
 public:
  ExportResult Export(const Batch& batch) override {
    return ExportResult::Exported(batch);
  }
};

void WriteTrace(const Tracer& tracer, const Logger& logger, size_t size) {
  const std::string_view texts[] = {"a", "b"};
  Span root = tracer.StartSpan("GET /", SpanKind::kServer);
  const Scope scope(root.context());
  const std::string_view large(
      "0123456789012345678901234567890123456789012345678901234567890123456789");
  for (size_t i = 0; i < size; ++i) {
    Span child = tracer.StartSpan("child");
    child.SetAttribute("http.request.method", "GET")
        .SetAttribute("n", i)
        .SetAttribute("ratio", 0.5)
        .SetAttribute("texts", texts)
        .AddEvent("event", {{"k", large}});
    root.AddLink(child.context());
    root.AddEvent("event", {{"k", large}});
    Log(logger, Severity::kInfo, large).SetAttribute("k", true);
    child.SetStatus(StatusCode::kError, "reason");
  }
}

TEST(NoAllocationTest, SpansAllocateNothingAfterTheFirst) {
  NoSink sink;
  Pipeline pipeline(PipelineOptions(), &sink);
  const Tracer tracer(pipeline, "t");
  const Logger logger(pipeline, "l");
  WriteTrace(tracer, logger, 20);
  const test::AllocationCounter counter;
  for (int i = 0; i < 100; ++i)
    WriteTrace(tracer, logger, 20);
  EXPECT_EQ(counter.count(), 0u);
}

TEST(NoAllocationTest, UndecidedSpansAllocateNothingAfterTheFirst) {
  NoSink sink;
  PipelineOptions options;
  options.keep_rule.errors = true;
  Pipeline pipeline(options, &sink);
  const Tracer tracer(pipeline, "t");
  const Logger logger(pipeline, "l");
  WriteTrace(tracer, logger, 20);
  const test::AllocationCounter counter;
  for (int i = 0; i < 100; ++i)
    WriteTrace(tracer, logger, 20);
  EXPECT_EQ(counter.count(), 0u);
}

}  // namespace
}  // namespace protozero::otlp
