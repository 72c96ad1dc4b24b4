// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
//   random_spans SEED FOLDER
//
// Writes random spans and logs to files in the folder, in all formats, and a
// model of them to FOLDER/model.jsonl: a line of JSON for each.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protozero/otlp/baggage.h"
#include "protozero/otlp/file_exporter.h"
#include "protozero/otlp/log.h"
#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"

namespace {

using namespace protozero::otlp;

std::mt19937_64 random_source;

size_t Below(size_t limit) {
  return static_cast<size_t>(random_source() % limit);
}

// Sizes on both sides of those that have a code of their own, and any.
size_t RandomSize() {
  static constexpr size_t kSizes[] = {0,   1,   2,   3,   4,   7,   8,   15,
                                      16,  17,  31,  60,  100, 120, 121, 122,
                                      126, 127, 128, 129, 500, 5000};
  return Below(2) == 0 ? kSizes[Below(std::size(kSizes))] : Below(40);
}

std::string RandomText() {
  static constexpr const char* kParts[] = {
      "a", "B", "7", " ", "\xc3\xa4", "\xe2\x82\xac", "\"", "\\", "\n"};
  std::string text;
  for (const size_t size = RandomSize(); text.size() < size;)
    text += kParts[Below(Below(4) == 0 ? std::size(kParts) : 4)];
  return text;
}

std::string Json(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char escaped[8];
    snprintf(escaped, sizeof(escaped), "\\u%04x", c);
    json += c == '"' || c == '\\' || (c >= 0 && c < ' ') ? escaped
                                                         : std::string(1, c);
  }
  return json + "\"";
}

std::string JsonOf(int64_t value) {
  return std::to_string(value);
}
std::string JsonOf(bool value) {
  return value ? "true" : "false";
}
std::string JsonOf(double value) {
  char text[40];
  snprintf(text, sizeof(text), "{\"double\":\"%a\"}", value);
  return text;
}
std::string JsonOf(std::string_view value) {
  return Json(std::string(value));
}

template <typename T>
std::string JsonArray(const std::vector<T>& values) {
  std::string json;
  for (const T& value : values)
    json += (json.empty() ? "" : ",") + JsonOf(value);
  return "[" + json + "]";
}

// A value that is set by |set|, and its JSON.
template <typename Set>
std::string SetRandomValue(Set set) {
  const auto scalar = [&set](auto value) {
    set(AttributeValue(value));
    return JsonOf(value);
  };
  const auto array = [&set](const auto& values) {
    set(AttributeValue(values));
    return JsonArray(values);
  };
  const size_t count = Below(40);
  switch (Below(9)) {
    case 0:
      return scalar(Below(2) == 0);
    case 1:
      return scalar(static_cast<int64_t>(random_source() >> Below(64)));
    case 2:
      return scalar(-static_cast<int64_t>(random_source() >> (1 + Below(63))));
    case 3:
      return scalar(static_cast<double>(random_source()) / 7);
    case 4: {
      std::vector<int64_t> values(count);
      for (int64_t& value : values)
        value = static_cast<int64_t>(random_source() >> Below(64));
      return array(values);
    }
    case 5: {
      std::vector<double> values(count, 0.1);
      return array(values);
    }
    case 6: {
      std::vector<std::string> texts(count);
      std::vector<std::string_view> values;
      for (std::string& text : texts)
        values.push_back(text = RandomText());
      return array(values);
    }
    default: {
      const std::string text = RandomText();
      return scalar(std::string_view(text));
    }
  }
}

std::string RandomKey() {
  std::string key = "k" + std::to_string(Below(160));
  return Below(10) == 0 ? key + RandomText() : key;
}

using Map = std::map<std::string, std::string>;

std::string JsonMap(const Map& map) {
  std::string json;
  for (const auto& [key, value] : map)
    json += (json.empty() ? "" : ",") + Json(key) + ":" + value;
  return "{" + json + "}";
}

// Sets random attributes. Returns the number of those that are too many.
template <typename Record>
int SetRandomAttributes(Record* record, Map* map) {
  int dropped = 0;
  const size_t count = Below(8) == 0 ? 250 : Below(20);
  for (size_t i = 0; i < count; ++i) {
    const std::string key = RandomKey();
    const std::string json = SetRandomValue(
        [&](const AttributeValue& value) { record->SetAttribute(key, value); });
    if (map->count(key) == 0 && map->size() == 128)
      ++dropped;
    else
      (*map)[key] = json;
  }
  return dropped;
}

std::string AddRandomEvent(Span* span) {
  const std::string name = RandomText(), key = RandomKey(), text = RandomText();
  const uint64_t time = 1 + Below(1000);
  span->AddEvent(name, {{key, text}, {"n", time}, {"n", 3}}, time);
  return "[" + Json(name) + "," + std::to_string(time) + "," +
         JsonMap({{key, Json(text)}, {"n", "3"}}) + "]";
}

struct Files {
  FILE* model;
  Tracer tracer;
  Logger logger;
};

// Writes a span, and spans below it.
void WriteSpan(const Files& files, const SpanContext& parent, int depth) {
  const std::string name = RandomText();
  const SpanKind kind = static_cast<SpanKind>(1 + Below(5));
  Span span = files.tracer.StartSpan(name, kind, parent);
  const Scope scope(span.context());
  Map attributes;
  const int dropped = SetRandomAttributes(&span, &attributes);
  std::string events, links, status = "[0,\"\"]";
  for (size_t i = Below(4); i > 0; --i)
    events += (events.empty() ? "" : ",") + AddRandomEvent(&span);
  if (parent.IsValid() && Below(3) == 0) {
    span.AddLink(parent, {{"why", "parent"}});
    links = Json(parent.span_id.Hex());
  }
  if (Below(3) == 0) {
    const std::string text = RandomText();
    span.SetStatus(StatusCode::kError, text);
    status = "[2," + Json(text) + "]";
  }
  if (Below(5) == 0) {
    span.SetStatus(StatusCode::kOk);
    status = "[1,\"\"]";
  }
  for (size_t i = depth < 4 ? Below(3) : 0; i > 0; --i)
    WriteSpan(files, span.context(), depth + 1);
  fprintf(files.model,
          "{\"span\":%s,\"trace\":%s,\"parent\":%s,\"state\":%s,\"name\":%s,"
          "\"kind\":%d,\"attributes\":%s,\"dropped\":%d,\"events\":[%s],"
          "\"links\":[%s],\"status\":%s}\n",
          Json(span.context().span_id.Hex()).c_str(),
          Json(span.context().trace_id.Hex()).c_str(),
          Json(parent.IsValid() ? parent.span_id.Hex() : "").c_str(),
          Json(std::string(span.context().trace_state.Text())).c_str(),
          Json(name).c_str(), static_cast<int>(kind),
          JsonMap(attributes).c_str(), dropped, events.c_str(), links.c_str(),
          status.c_str());
  if (Below(2) == 0) {
    const std::string body = RandomText();
    Map log_attributes;
    Log log(files.logger, Severity::kWarn, body);
    const int log_dropped = SetRandomAttributes(&log, &log_attributes);
    fprintf(files.model,
            "{\"log\":%s,\"span\":%s,\"attributes\":%s,\"dropped\":%d}\n",
            Json(body).c_str(), Json(span.context().span_id.Hex()).c_str(),
            JsonMap(log_attributes).c_str(), log_dropped);
  }
}

// Exports to files of all formats.
class AllFormats : public BatchSink {
 public:
  explicit AllFormats(const std::string& folder)
      : delimited_(folder + "/spans.delimited", folder + "/logs.delimited"),
        collector_(folder + "/spans.collector",
                   folder + "/logs.collector",
                   FileFormat::kCollector),
        json_(folder + "/spans.jsonl",
              folder + "/logs.jsonl",
              FileFormat::kJsonLines) {}
  ExportResult Export(const Batch& batch) override {
    collector_.Export(batch);
    json_.Export(batch);
    return delimited_.Export(batch);
  }

 private:
  FileExporter delimited_, collector_, json_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  random_source.seed(strtoull(argv[1], nullptr, 10));
  const std::string folder = argv[2];
  AllFormats exporter(folder);
  PipelineOptions options;
  options.resource = {{"service.name", "random"}, {"n", 5}};
  options.thread_buffer_size = 16 << 20;
  Pipeline pipeline(options, &exporter);
  Files files{fopen((folder + "/model.jsonl").c_str(), "w"),
              Tracer(pipeline, "tracer", "1.0", "https://example.com/schema"),
              Logger(pipeline, "logger")};
  const auto remote = SpanContext::FromHeaders(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1,b=2");
  for (int i = 0; i < 20; ++i)
    WriteSpan(files, Below(3) == 0 ? *remote : SpanContext(), 0);
  fclose(files.model);
  const bool is_flushed = pipeline.Shutdown(60000);
  return is_flushed && pipeline.Spans().exported == pipeline.Spans().written &&
                 pipeline.Logs().exported == pipeline.Logs().written
             ? 0
             : 1;
}
