// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_RECORDS_H_
#define SRC_PZTRACE_OTLP_OTLP_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/tracing/trace_reader/id_map.h"

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

// The scope that many spans have in common, in a program.
struct OtlpScope {
  std::string_view name;
  uint32_t resource;
};

// The thread or the track of spans, as their attributes say.
struct OtlpPlace {
  // The id of its thread, if it has one.
  bool has_thread = false;
  int64_t thread = 0;
  std::string_view thread_name;
  // The name of its track, which `pztrace export` writes.
  std::string_view track = "spans";

  bool operator<(const OtlpPlace& other) const {
    return std::tie(has_thread, thread, thread_name, track) <
           std::tie(other.has_thread, other.thread, other.thread_name,
                    other.track);
  }
};

// The ids of a span; of a log, those of its span, which is the parent.
struct OtlpIds {
  std::string_view trace;
  std::string_view span;
  std::string_view parent;
};

// A span or a log. There may be millions: the rest is in |bytes|.
struct OtlpRecord {
  static constexpr uint32_t kNone = UINT32_MAX;

  protozero::ConstBytes bytes{};
  uint64_t start = 0;
  uint64_t end = 0;
  // Indexes for OtlpRecords.
  uint32_t scope = 0;
  uint32_t place = 0;
  // The record of its parent; of a log, of its span.
  uint32_t parent = kNone;
  // The number of its ancestors.
  uint32_t depth : 31;
  uint32_t is_log : 1;

  OtlpRecord() : depth(0), is_log(0) {}
};
static_assert(sizeof(void*) != 8 || sizeof(OtlpRecord) == 48,
              "a million of them are in memory");

// The spans and logs of messages.
class OtlpRecords {
 public:
  // REQUIRES: |messages| live as long as this.
  explicit OtlpRecords(const std::vector<std::string_view>& messages);

  const std::vector<OtlpResource>& resources() const { return resources_; }
  const std::vector<OtlpRecord>& records() const { return records_; }
  uint32_t ResourceOf(const OtlpRecord& record) const {
    return scopes_[record.scope].resource;
  }
  std::string_view ScopeOf(const OtlpRecord& record) const {
    return scopes_[record.scope].name;
  }
  const OtlpPlace& PlaceOf(const OtlpRecord& record) const {
    return places_[record.place];
  }
  static OtlpIds IdsOf(const OtlpRecord& record);
  // Counts the spans whose end is before the beginning, or missing. They end
  // where they begin.
  uint64_t num_reversed() const { return num_reversed_; }
  // Returns the record of the span; kNone if it is not there.
  uint32_t FindSpan(std::string_view trace_id, std::string_view span_id) const;

 private:
  uint32_t AddResource(protozero::ConstBytes bytes);
  void AddResourceRecords(protozero::ConstBytes bytes);
  void AddScopeRecords(uint32_t resource, protozero::ConstBytes bytes);
  void AddSpan(OtlpRecord record);
  void AddLog(OtlpRecord record);
  uint32_t PlaceNumberOf(const OtlpPlace& place);
  void ChooseProcessIds();
  void FindParents();

  std::vector<OtlpResource> resources_;
  std::unordered_map<std::string_view, uint32_t> resource_by_bytes_;
  std::vector<OtlpScope> scopes_;
  std::deque<OtlpPlace> places_;
  std::map<OtlpPlace, uint32_t> place_numbers_;
  std::vector<OtlpRecord> records_;
  // The first span of each hash of its trace id and span id.
  protozero::internal::IdMap spans_;
  uint64_t num_reversed_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_RECORDS_H_
