// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/file_exporter.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "protozero/otlp/log.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"

namespace protozero::otlp {
namespace {

class FileExporterTest : public testing::Test {
 protected:
  FileExporterTest()
      : path_(testing::TempDir() + "otlp_file_" + std::to_string(getpid())) {}
  ~FileExporterTest() override { unlink(path_.c_str()); }

  std::string Content() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  const std::string path_;
};

TEST_F(FileExporterTest, WritesLinesOfJson) {
  FileExporter exporter(path_, "", FileFormat::kJsonLines);
  PipelineOptions options;
  options.resource = {{"service.name", "a\"b\\\n"}};
  Pipeline pipeline(options, &exporter);
  SpanOptions at;
  at.start_unix_time_ns = 5;
  const uint8_t bytes[] = {0, 1, 2, 255};
  const double doubles[] = {0.5, -1e300 * 1e300};
  Span span = Tracer(pipeline, "t").StartSpan("name", at);
  span.SetAttribute("i", -1)
      .SetAttribute("b", false)
      .SetAttribute("bytes", ConstBytes(bytes, 4))
      .SetAttribute("doubles", doubles);
  const std::string trace = span.context().trace_id.Hex();
  const std::string id = span.context().span_id.Hex();
  span.End(7);
  EXPECT_TRUE(pipeline.Flush(60000));
  EXPECT_EQ(
      Content(),
      "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":"
      "\"service.name\",\"value\":{\"stringValue\":\"a\\\"b\\\\\\u000a\"}}]},"
      "\"scopeSpans\":[{\"scope\":{\"name\":\"t\"},\"spans\":[{\"traceId\":\"" +
          trace + "\",\"spanId\":\"" + id +
          "\",\"flags\":257,\"name\":\"name\",\"kind\":1,"
          "\"startTimeUnixNano\":\"5\",\"endTimeUnixNano\":\"7\","
          "\"attributes\":[{\"key\":\"i\",\"value\":{\"intValue\":\"-1\"}},"
          "{\"key\":\"b\",\"value\":{\"boolValue\":false}},"
          "{\"key\":\"bytes\",\"value\":{\"bytesValue\":\"AAEC/w==\"}},"
          "{\"key\":\"doubles\",\"value\":{\"arrayValue\":{\"values\":["
          "{\"doubleValue\":0.5},{\"doubleValue\":\"-Infinity\"}]}}}]}]}]}]}"
          "\n");
}

TEST_F(FileExporterTest, SaysWhyItWritesNothing) {
  FileExporter exporter("/nonexistent/folder/file");
  EXPECT_NE(exporter.error().find("/nonexistent/folder/file"),
            std::string::npos);
  Pipeline pipeline(PipelineOptions(), &exporter);
  Tracer(pipeline, "t").StartSpan("a");
  EXPECT_FALSE(pipeline.Flush(60000));
  EXPECT_EQ(pipeline.Spans().export_failed, 1u);
  EXPECT_EQ(pipeline.LastError(), exporter.error());
}

TEST_F(FileExporterTest, DropsLogsWithoutAFile) {
  FileExporter exporter(path_);
  Pipeline pipeline(PipelineOptions(), &exporter);
  Log(Logger(pipeline, "l"), Severity::kInfo, "text");
  EXPECT_FALSE(pipeline.Flush(60000));
  EXPECT_EQ(pipeline.Logs().export_failed, 1u);
  EXPECT_EQ(pipeline.LastError(), "no file for logs");
}

TEST_F(FileExporterTest, TakesBackWhatDoesNotFit) {
  FileExporter exporter(path_);
  std::string bytes(3000, 'x');
  const Batch batch{Signal::kSpans,
                    reinterpret_cast<const uint8_t*>(bytes.data()),
                    bytes.size(), 1, 0};
  ASSERT_EQ(exporter.Export(batch).exported, 1u);
  const std::string before = Content();
  rlimit limit, old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  limit = old_limit;
  limit.rlim_cur = 5000;
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const ExportResult result = exporter.Export(batch);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(result.exported, 0u);
  ASSERT_NE(result.reason, nullptr);
  EXPECT_EQ(Content(), before);
  EXPECT_EQ(exporter.Export(batch).exported, 1u);
  EXPECT_EQ(Content(), before + before);
}

// The reader of a pipe that does not read does not hold up the program, and a
// part of a message is not followed by others.
TEST_F(FileExporterTest, DoesNotWaitForAReaderForever) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(FileExporter(path_).error(), path_ + ": no program reads it");
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  FileExporter exporter(path_);
  EXPECT_EQ(exporter.error(), "");
  const std::string text(1 << 20, 'x');
  {
    Pipeline pipeline(PipelineOptions(), &exporter);
    const Tracer tracer(pipeline, "t");
    tracer.StartSpan("small");
    EXPECT_TRUE(pipeline.Flush(60000));
    tracer.StartSpan("large").SetAttribute("text", text.substr(1000));
    EXPECT_FALSE(pipeline.Flush(1));
    // The exporter is in the middle of it when the pipe is full.
    int unread = 0;
    while (ioctl(reader, FIONREAD, &unread) == 0 && unread < 4096)
      usleep(1000);
    EXPECT_FALSE(pipeline.Shutdown(1));
    EXPECT_EQ(pipeline.Spans().exported, 1u);
    EXPECT_EQ(pipeline.Spans().export_failed, 1u);
    EXPECT_NE(pipeline.LastError().find("cannot be written"),
              std::string::npos);
  }
  const uint8_t byte = 0;
  const Batch batch{Signal::kSpans, &byte, 1, 1, UINT64_MAX};
  const ExportResult result = exporter.Export(batch);
  EXPECT_EQ(result.exported, 0u);
  EXPECT_STREQ(result.reason,
               "a message in the file is not whole, so no other follows");
  EXPECT_EQ(exporter.error(), "");
  const Batch logs{Signal::kLogs, &byte, 1, 1, UINT64_MAX};
  EXPECT_STREQ(exporter.Export(logs).reason, "no file for logs");
  close(reader);
}

}  // namespace
}  // namespace protozero::otlp
