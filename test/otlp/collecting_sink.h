// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_OTLP_COLLECTING_SINK_H_
#define TEST_OTLP_COLLECTING_SINK_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "protozero/otlp/batch_sink.h"
#include "src/otlp/protos/schema.h"

namespace protozero::otlp {

// Keeps the messages of spans and logs, by their scope.
class CollectingSink : public BatchSink {
 public:
  ExportResult Export(const Batch& batch) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint32_t found = 0;
    const otlp_schema::TracesData::Decoder data(batch.data, batch.size);
    for (auto resource = data.resource_spans(); resource; ++resource) {
      const otlp_schema::ResourceSpans::Decoder spans(*resource);
      resource_ = spans.resource().ToStdString();
      for (auto scope = spans.scope_spans(); scope; ++scope) {
        const otlp_schema::ScopeSpans::Decoder records(*scope);
        const otlp_schema::InstrumentationScope::Decoder names(records.scope());
        for (auto record = records.spans(); record; ++record) {
          ++found;
          auto& list = batch.signal == Signal::kSpans ? spans_ : logs_;
          list.push_back((*record).ToStdString());
          scopes_.push_back(names.name().ToStdString());
        }
      }
    }
    is_right_ =
        is_right_ && found == batch.count && data.status() == DecodeStatus::kOk;
    return ExportResult::Exported(batch);
  }

  std::vector<std::string> spans() { return Copy(spans_); }
  std::vector<std::string> logs() { return Copy(logs_); }
  std::vector<std::string> scopes() { return Copy(scopes_); }
  std::string resource() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return resource_;
  }
  // False if a batch had another number of records than it said.
  bool is_right() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_right_;
  }

 private:
  template <typename T>
  T Copy(const T& list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return list;
  }

  std::mutex mutex_;
  std::vector<std::string> spans_;
  std::vector<std::string> logs_;
  std::vector<std::string> scopes_;
  std::string resource_;
  bool is_right_ = true;
};

// Returns the value of an attribute as text.
inline std::string TextOfValue(ConstBytes bytes) {
  const otlp_schema::AnyValue::Decoder value(bytes);
  if (value.has_string_value())
    return value.string_value().ToStdString();
  if (value.has_bool_value())
    return value.bool_value() ? "true" : "false";
  if (value.has_int_value())
    return std::to_string(value.int_value());
  if (value.has_double_value())
    return std::to_string(value.double_value());
  if (value.has_bytes_value())
    return "bytes " + value.bytes_value().ToStdString();
  std::string text = "[";
  const otlp_schema::ArrayValue::Decoder array(value.array_value());
  for (auto it = array.values(); it; ++it)
    text += TextOfValue(*it) + ',';
  return text + ']';
}

// Returns the values of attributes as text, and their number in |*count|.
template <typename Range>
std::map<std::string, std::string> AttributesOf(Range list, size_t* count) {
  std::map<std::string, std::string> result;
  *count = 0;
  for (; list; ++list) {
    ++*count;
    const otlp_schema::KeyValue::Decoder attribute(*list);
    result[attribute.key().ToStdString()] = TextOfValue(attribute.value());
  }
  return result;
}

}  // namespace protozero::otlp

#endif  // TEST_OTLP_COLLECTING_SINK_H_
