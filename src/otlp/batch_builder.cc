// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/batch_builder.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/protos/schema.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

using otlp_schema::ExportTraceServiceRequest;
using otlp_schema::InstrumentationScope;
using otlp_schema::Resource;
using otlp_schema::ResourceSpans;
using otlp_schema::ScopeSpans;
using proto_utils::VarIntSize;

// The messages of logs have the same numbers.
static_assert(uint32_t{otlp_schema::ResourceLogs::kScopeLogsFieldNumber} ==
                  uint32_t{ResourceSpans::kScopeSpansFieldNumber} &&
              uint32_t{otlp_schema::ScopeLogs::kLogRecordsFieldNumber} ==
                  uint32_t{ScopeSpans::kSpansFieldNumber});

void AppendField(std::string* message, uint32_t field, std::string_view bytes) {
  uint8_t header[kMaxHeader + kSlack];
  header[0] = BytesTag(field);
  uint8_t* const end = PutVarInt(header + 1, bytes.size());
  message->append(header, end);
  message->append(bytes);
}

// A text that may not be UTF-8.
void AppendText(std::string* message, uint32_t field, std::string_view text) {
  if (text.empty())
    return;
  std::string buffer(text.size() + 2 * kSlack, '\0');
  uint8_t* const begin = reinterpret_cast<uint8_t*>(buffer.data());
  ValueWriter writer{SIZE_MAX};
  uint8_t* const end = writer.PutText(begin, BytesTag(field), text);
  message->append(begin, end);
}

size_t FieldSize(size_t size) {
  return 1 + VarIntSize(size) + size;
}

uint8_t* PutHeader(uint8_t* pos, uint32_t field, size_t size) {
  *pos++ = BytesTag(field);
  return PutVarInt(pos, size);
}

uint8_t* PutAll(uint8_t* pos, const void* data, size_t size) {
  if (size != 0)
    memcpy(pos, data, size);
  return pos + size;
}

}  // namespace

BatchBuilder::BatchBuilder(const PipelineOptions& options)
    : max_count_(std::max(options.max_batch_count, uint32_t{1})),
      max_bytes_(options.max_batch_bytes) {
  ValueWriter writer{SIZE_MAX};
  const Attribute* const attributes = options.resource.data();
  const size_t count = options.resource.size();
  std::string resource(writer.RoomForAttributes(attributes, count) + kSlack,
                       '\0');
  uint8_t* const begin = reinterpret_cast<uint8_t*>(resource.data());
  uint32_t dropped = 0;
  uint8_t* const end =
      writer.PutAttributes(begin, BytesTag(Resource::kAttributesFieldNumber),
                           attributes, count, SIZE_MAX, &dropped);
  resource.resize(static_cast<size_t>(end - begin));
  AppendField(&resource_, ResourceSpans::kResourceFieldNumber, resource);
  AppendText(&resource_schema_, ResourceSpans::kSchemaUrlFieldNumber,
             options.resource_schema_url);
}

BatchBuilder::~BatchBuilder() {
  free(output_.data);
  for (std::vector<Fields>& scopes : records_) {
    for (Fields& fields : scopes)
      free(fields.data);
  }
}

size_t BatchBuilder::AddScope(std::string_view name,
                              std::string_view version,
                              std::string_view schema_url) {
  std::string scope, fields, schema;
  AppendText(&scope, InstrumentationScope::kNameFieldNumber, name);
  AppendText(&scope, InstrumentationScope::kVersionFieldNumber, version);
  AppendField(&fields, ScopeSpans::kScopeFieldNumber, scope);
  AppendText(&schema, ScopeSpans::kSchemaUrlFieldNumber, schema_url);
  for (size_t i = 0; i < scope_fields_.size(); ++i) {
    if (scope_fields_[i] == fields && scope_schemas_[i] == schema)
      return i;
  }
  const size_t number = scope_fields_.size();
  if (number > UINT16_MAX)
    return number;
  scope_fields_.push_back(fields);
  scope_schemas_.push_back(schema);
  records_[0].emplace_back();
  records_[1].emplace_back();
  return number;
}

bool BatchBuilder::Reserve(Fields* fields, size_t size) {
  if (fields->capacity - fields->size >= size)
    return true;
  const size_t capacity = std::max(
      fields->size + size, std::max(fields->capacity * 2, size_t{4096}));
  void* const data = realloc(fields->data, capacity);
  if (data == nullptr)
    return false;
  fields->data = static_cast<uint8_t*>(data);
  fields->capacity = capacity;
  return true;
}

bool BatchBuilder::Append(Signal signal,
                          uint16_t scope,
                          const uint8_t* data,
                          size_t size) {
  Fields* const fields = &records_[static_cast<int>(signal)][scope];
  if (!Reserve(fields, FieldSize(size) + kSlack))
    return false;
  uint8_t* const begin = fields->data + fields->size;
  uint8_t* const pos =
      PutAll(PutHeader(begin, ScopeSpans::kSpansFieldNumber, size), data, size);
  fields->size += static_cast<size_t>(pos - begin);
  bytes_ += static_cast<size_t>(pos - begin);
  ++counts_[static_cast<int>(signal)];
  return true;
}

bool BatchBuilder::Read(ThreadState* thread, uint64_t end) {
  RecordRing& ring = thread->ring();
  PipelineState* const pipeline = thread->pipeline();
  uint64_t position = ring.Contents().begin;
  while (position != end) {
    const uint8_t* data = ring.At(position);
    RecordHeader header;
    memcpy(&header, data, sizeof(header));
    data += sizeof(header);
    const uint64_t after = position + RecordRing::SizeOf(header.size);
    if (header.kind == RecordHeader::kFiller) {
      position = after;
      continue;
    }
    size_t size = header.size;
    LargeRecord* large = nullptr;
    if ((header.kind & RecordHeader::kLarge) != 0) {
      memcpy(&large, data, sizeof(large));
      data = large->bytes();
      size = large->size;
    }
    const Signal signal = static_cast<Signal>(header.kind & 1);
    // It waits for the next batch, unless it is too large for any.
    if (bytes_ != 0 &&
        (bytes_ + size > max_bytes_ || count(signal) >= max_count_))
      break;
    position = after;
    if (!Append(signal, header.scope, data, size))
      pipeline->other_counters[header.kind & 1].no_memory.AddShared(1);
    if (large != nullptr)
      pipeline->Free(large, sizeof(LargeRecord) + size);
  }
  ring.Release(position);
  return position == end;
}

Batch BatchBuilder::Build(Signal signal) {
  Batch batch{signal, nullptr, 0, count(signal), 0};
  const std::vector<Fields>& records = records_[static_cast<int>(signal)];
  const auto scope_size = [&](size_t i) {
    return scope_fields_[i].size() + records[i].size + scope_schemas_[i].size();
  };
  size_t size = resource_.size() + resource_schema_.size();
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].size != 0)
      size += FieldSize(scope_size(i));
  }
  output_.size = 0;
  if (batch.count == 0 || !Reserve(&output_, FieldSize(size) + kSlack))
    return batch;
  uint8_t* pos = output_.data;
  pos = PutHeader(pos, ExportTraceServiceRequest::kResourceSpansFieldNumber,
                  size);
  pos = PutAll(pos, resource_.data(), resource_.size());
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].size == 0)
      continue;
    pos = PutHeader(pos, ResourceSpans::kScopeSpansFieldNumber, scope_size(i));
    pos = PutAll(pos, scope_fields_[i].data(), scope_fields_[i].size());
    pos = PutAll(pos, records[i].data, records[i].size);
    pos = PutAll(pos, scope_schemas_[i].data(), scope_schemas_[i].size());
  }
  pos = PutAll(pos, resource_schema_.data(), resource_schema_.size());
  batch.data = output_.data;
  batch.size = static_cast<size_t>(pos - output_.data);
  return batch;
}

void BatchBuilder::Clear() {
  for (std::vector<Fields>& scopes : records_) {
    for (Fields& fields : scopes)
      fields.size = 0;
  }
  counts_[0] = counts_[1] = 0;
  bytes_ = 0;
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
