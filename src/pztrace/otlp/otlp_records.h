// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_RECORDS_H_
#define SRC_PZTRACE_OTLP_OTLP_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"

namespace pztrace {

// The program that spans come from.
struct OtlpResource {
  protozero::ConstBytes bytes{};
  std::string name;
  int32_t pid = 0;
  uint64_t uuid = 0;  // Equal for equal resources of other files.
};

// The attributes that say where a span or a log was.
constexpr std::string_view kThreadId = "thread.id";
constexpr std::string_view kThreadName = "thread.name";
constexpr std::string_view kTrack = "pztrace.track";

// A span or a log, of which the texts are in the message.
struct OtlpRecord {
  static constexpr size_t kNone = SIZE_MAX;

  bool is_log = false;
  size_t resource = 0;
  std::string_view scope;
  protozero::ConstBytes bytes{};
  uint64_t start = 0;
  uint64_t end = 0;
  std::string_view trace_id;
  std::string_view span_id;
  std::string_view parent_id;
  // The id of its thread, if it has one.
  bool has_thread = false;
  int64_t thread = 0;
  std::string_view thread_name;
  // The name of its track, which `pztrace export` writes.
  std::string_view track = "spans";

  // The record of its parent; of a log, of its span.
  size_t parent = kNone;
  // The number of its ancestors.
  size_t depth = 0;
};

// The spans and logs of a message.
class OtlpRecords {
 public:
  // REQUIRES: |message| lives as long as this.
  explicit OtlpRecords(std::string_view message);

  const std::vector<OtlpResource>& resources() const { return resources_; }
  const std::vector<OtlpRecord>& records() const { return records_; }
  // Counts the spans whose end is before the beginning, or missing. They end
  // where they begin.
  uint64_t num_reversed() const { return num_reversed_; }
  // Returns the record of the span; kNone if it is not there.
  size_t FindSpan(std::string_view trace_id, std::string_view span_id) const;

 private:
  size_t AddResource(protozero::ConstBytes bytes);
  void AddResourceRecords(protozero::ConstBytes bytes);
  void AddScopeRecords(size_t resource, protozero::ConstBytes bytes);
  void AddSpan(OtlpRecord record);
  void AddLog(OtlpRecord record);
  void ChooseProcessIds();
  void FindParents();

  std::vector<OtlpResource> resources_;
  std::unordered_map<std::string_view, size_t> resource_by_bytes_;
  std::vector<OtlpRecord> records_;
  // By trace id and span id.
  std::unordered_map<std::string, size_t> spans_;
  uint64_t num_reversed_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_RECORDS_H_
