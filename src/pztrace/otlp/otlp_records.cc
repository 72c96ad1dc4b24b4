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

uint64_t OtlpKeyOf(std::string_view trace_id, std::string_view span_id) {
  return program::Fnv1a(span_id, program::Fnv1a(trace_id));
}

// Sets the thread or the track of a place from an attribute.
void TakePlace(ConstBytes attribute, OtlpPlace* place) {
  const schema::KeyValue::Decoder pair(attribute);
  const std::string_view key = OtlpViewOf(pair.key());
  if (key != kThreadId && key != kThreadName && key != kTrack)
    return;
  const schema::AnyValue::Decoder value(pair.value());
  if (key == kThreadName) {
    place->thread_name = OtlpViewOf(value.string_value());
  } else if (key == kTrack) {
    place->track = OtlpViewOf(value.string_value());
  } else if (value.has_int_value()) {
    place->has_thread = true;
    place->thread = value.int_value();
  }
}

}  // namespace

OtlpRecords::OtlpRecords(const std::vector<std::string_view>& messages) {
  for (const std::string_view message : messages) {
    protozero::ProtoDecoder decoder(message.data(), message.size());
    while (const Field field = decoder.ReadField()) {
      if (field.id() == 1 && field.type() == WireType::kLengthDelimited)
        AddResourceRecords(field.as_bytes());
    }
  }
  ChooseProcessIds();
  FindParents();
}

uint32_t OtlpRecords::FindSpan(std::string_view trace_id,
                               std::string_view span_id) const {
  const uint32_t found = spans_.Find(OtlpKeyOf(trace_id, span_id));
  if (found == protozero::internal::IdMap::kNone)
    return OtlpRecord::kNone;
  // Hashes may collide.
  const OtlpIds ids = IdsOf(records_[found]);
  return ids.trace == trace_id && ids.span == span_id ? found
                                                      : OtlpRecord::kNone;
}

OtlpIds OtlpRecords::IdsOf(const OtlpRecord& record) {
  OtlpIds ids;
  protozero::ProtoDecoder decoder(record.bytes);
  while (const Field field = decoder.ReadField()) {
    if (field.type() != WireType::kLengthDelimited)
      continue;
    const std::string_view value = OtlpViewOf(field.as_bytes());
    if (field.id() == (record.is_log ? 9u : 1u))
      ids.trace = value;
    else if (field.id() == (record.is_log ? 10u : 4u))
      ids.parent = value;
    else if (field.id() == 2 && !record.is_log)
      ids.span = value;
  }
  return ids;
}

// ResourceSpans and ResourceLogs have the same form down to their records.
void OtlpRecords::AddResourceRecords(ConstBytes bytes) {
  const schema::ResourceSpans::Decoder decoder(bytes);
  const uint32_t resource = AddResource(decoder.resource());
  for (auto it = decoder.scope_spans(); it; ++it)
    AddScopeRecords(resource, *it);
}

uint32_t OtlpRecords::AddResource(ConstBytes bytes) {
  const auto next = static_cast<uint32_t>(resources_.size());
  const auto [found, is_new] =
      resource_by_bytes_.emplace(OtlpViewOf(bytes), next);
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
  return next;
}

void OtlpRecords::AddScopeRecords(uint32_t resource, ConstBytes bytes) {
  const schema::ScopeSpans::Decoder decoder(bytes);
  const schema::InstrumentationScope::Decoder scope(decoder.scope());
  scopes_.push_back({OtlpViewOf(scope.name()), resource});
  for (auto it = decoder.spans(); it; ++it) {
    OtlpRecord record;
    record.scope = static_cast<uint32_t>(scopes_.size() - 1);
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
  OtlpPlace place;
  for (auto it = span.attributes(); it; ++it)
    TakePlace(*it, &place);
  record.place = PlaceNumberOf(place);
  spans_.Insert(
      OtlpKeyOf(OtlpViewOf(span.trace_id()), OtlpViewOf(span.span_id())),
      static_cast<uint32_t>(records_.size()));
  records_.push_back(record);
}

void OtlpRecords::AddLog(OtlpRecord record) {
  const schema::LogRecord::Decoder log(record.bytes);
  record.is_log = 1;
  record.start = log.time_unix_nano() != 0 ? log.time_unix_nano()
                                           : log.observed_time_unix_nano();
  record.end = record.start;
  records_.push_back(record);
}

uint32_t OtlpRecords::PlaceNumberOf(const OtlpPlace& place) {
  const auto [found, is_new] =
      place_numbers_.try_emplace(place, static_cast<uint32_t>(places_.size()));
  if (is_new)
    places_.push_back(place);
  return found->second;
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
  for (uint32_t i = 0; i < records_.size(); ++i) {
    OtlpRecord& record = records_[i];
    const OtlpIds ids = IdsOf(record);
    if (!ids.parent.empty())
      record.parent = FindSpan(ids.trace, ids.parent);
    if (record.parent == i)
      record.parent = OtlpRecord::kNone;
  }
  // A span may claim to be its own ancestor: each is visited once.
  std::vector<bool> is_done(records_.size());
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < records_.size(); ++i) {
    for (uint32_t at = i; at != OtlpRecord::kNone && !is_done[at];
         at = records_[at].parent) {
      is_done[at] = true;
      path.push_back(at);
    }
    while (!path.empty()) {
      OtlpRecord& record = records_[path.back()];
      path.pop_back();
      if (record.parent != OtlpRecord::kNone)
        record.depth = (records_[record.parent].depth + 1) & 0x7fffffff;
    }
  }
}

}  // namespace pztrace
