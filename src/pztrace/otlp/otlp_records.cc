// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_records.h"

#include <limits>
#include <unordered_set>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "src/otlp/protos/schema.h"
#include "src/program/fnv1a.h"

namespace pztrace {

namespace {

namespace schema = protozero::otlp_schema;
using protozero::ConstBytes;
using protozero::ConstChars;
using protozero::Field;
using WireType = protozero::proto_utils::ProtoWireType;

std::string_view OtlpViewOf(ConstChars text) {
  return {text.data, text.size};
}

std::string_view OtlpViewOf(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

std::string OtlpKeyOf(std::string_view trace_id, std::string_view span_id) {
  std::string key(trace_id);
  key += span_id;
  return key;
}

// Sets the thread or the track of a record from one of its attributes.
void TakePlace(ConstBytes attribute, OtlpRecord* record) {
  const schema::KeyValue::Decoder pair(attribute);
  const std::string_view key = OtlpViewOf(pair.key());
  if (key != kThreadId && key != kThreadName && key != kTrack)
    return;
  const schema::AnyValue::Decoder value(pair.value());
  if (key == kThreadName) {
    record->thread_name = OtlpViewOf(value.string_value());
  } else if (key == kTrack) {
    record->track = OtlpViewOf(value.string_value());
  } else if (value.has_int_value()) {
    record->has_thread = true;
    record->thread = value.int_value();
  }
}

}  // namespace

OtlpRecords::OtlpRecords(std::string_view message) {
  protozero::ProtoDecoder decoder(message.data(), message.size());
  while (const Field field = decoder.ReadField()) {
    if (field.id() == 1 && field.type() == WireType::kLengthDelimited)
      AddResourceRecords(field.as_bytes());
  }
  ChooseProcessIds();
  FindParents();
}

size_t OtlpRecords::FindSpan(std::string_view trace_id,
                             std::string_view span_id) const {
  const auto found = spans_.find(OtlpKeyOf(trace_id, span_id));
  return found != spans_.end() ? found->second : OtlpRecord::kNone;
}

// ResourceSpans and ResourceLogs have the same form down to their records.
void OtlpRecords::AddResourceRecords(ConstBytes bytes) {
  const schema::ResourceSpans::Decoder decoder(bytes);
  const size_t resource = AddResource(decoder.resource());
  for (auto it = decoder.scope_spans(); it; ++it)
    AddScopeRecords(resource, *it);
}

size_t OtlpRecords::AddResource(ConstBytes bytes) {
  const auto [found, is_new] =
      resource_by_bytes_.emplace(OtlpViewOf(bytes), resources_.size());
  if (!is_new)
    return found->second;
  OtlpResource resource;
  resource.bytes = bytes;
  resource.uuid = program::Fnv1a(OtlpViewOf(bytes));
  const schema::Resource::Decoder decoder(bytes);
  for (auto it = decoder.attributes(); it; ++it) {
    const schema::KeyValue::Decoder pair(*it);
    const std::string_view key = OtlpViewOf(pair.key());
    const schema::AnyValue::Decoder value(pair.value());
    if (key == "service.name") {
      resource.name = OtlpViewOf(value.string_value());
    } else if (key == "process.pid" && value.int_value() > 0 &&
               value.int_value() <= std::numeric_limits<int32_t>::max()) {
      resource.pid = static_cast<int32_t>(value.int_value());
    }
  }
  resources_.push_back(resource);
  return resources_.size() - 1;
}

void OtlpRecords::AddScopeRecords(size_t resource, ConstBytes bytes) {
  const schema::ScopeSpans::Decoder decoder(bytes);
  const schema::InstrumentationScope::Decoder scope(decoder.scope());
  for (auto it = decoder.spans(); it; ++it) {
    OtlpRecord record;
    record.resource = resource;
    record.scope = OtlpViewOf(scope.name());
    record.bytes = *it;
    // A span has its ids in these fields.
    bool is_log = false;
    protozero::ProtoDecoder fields(record.bytes);
    while (const Field field = fields.ReadField()) {
      is_log = is_log || ((field.id() == 1 || field.id() == 11) &&
                          field.type() == WireType::kFixed64);
    }
    is_log ? AddLog(record) : AddSpan(record);
  }
}

void OtlpRecords::AddSpan(OtlpRecord record) {
  const schema::Span::Decoder span(record.bytes);
  record.start = span.start_time_unix_nano();
  record.end = span.end_time_unix_nano();
  if (record.end < record.start) {
    ++num_reversed_;
    record.end = record.start;
  }
  record.trace_id = OtlpViewOf(span.trace_id());
  record.span_id = OtlpViewOf(span.span_id());
  record.parent_id = OtlpViewOf(span.parent_span_id());
  for (auto it = span.attributes(); it; ++it)
    TakePlace(*it, &record);
  spans_.emplace(OtlpKeyOf(record.trace_id, record.span_id), records_.size());
  records_.push_back(record);
}

void OtlpRecords::AddLog(OtlpRecord record) {
  const schema::LogRecord::Decoder log(record.bytes);
  record.is_log = true;
  record.start = log.time_unix_nano() != 0 ? log.time_unix_nano()
                                           : log.observed_time_unix_nano();
  record.end = record.start;
  record.trace_id = OtlpViewOf(log.trace_id());
  record.parent_id = OtlpViewOf(log.span_id());
  for (auto it = log.attributes(); it; ++it)
    TakePlace(*it, &record);
  records_.push_back(record);
}

// Programs that do not say theirs get numbers that no other has.
void OtlpRecords::ChooseProcessIds() {
  std::unordered_set<int32_t> used;
  for (const OtlpResource& resource : resources_)
    used.insert(resource.pid);
  int32_t next = 1;
  for (OtlpResource& resource : resources_) {
    if (resource.pid != 0)
      continue;
    while (!used.insert(next).second)
      ++next;
    resource.pid = next;
  }
}

void OtlpRecords::FindParents() {
  for (size_t i = 0; i < records_.size(); ++i) {
    OtlpRecord& record = records_[i];
    if (!record.parent_id.empty())
      record.parent = FindSpan(record.trace_id, record.parent_id);
    if (record.parent == i)
      record.parent = OtlpRecord::kNone;
  }
  // A span may claim to be its own ancestor: each is visited once.
  std::vector<bool> is_done(records_.size());
  std::vector<size_t> path;
  for (size_t i = 0; i < records_.size(); ++i) {
    for (size_t at = i; at != OtlpRecord::kNone && !is_done[at];
         at = records_[at].parent) {
      is_done[at] = true;
      path.push_back(at);
    }
    while (!path.empty()) {
      OtlpRecord& record = records_[path.back()];
      path.pop_back();
      if (record.parent != OtlpRecord::kNone)
        record.depth = records_[record.parent].depth + 1;
    }
  }
}

}  // namespace pztrace
