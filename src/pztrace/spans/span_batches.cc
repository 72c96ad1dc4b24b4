// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_batches.h"

#include <time.h>

#include "src/otlp/protos/schema.h"
#include "src/program/varint.h"

namespace pztrace {

namespace {

namespace otlp = protozero::otlp;
namespace schema = protozero::otlp_schema;

// The time that a server has for a batch, attempts included.
constexpr uint64_t kExportNs = uint64_t{30} * 1'000'000'000;

// Appends a field with bytes.
void AppendSpanField(uint32_t id,
                     std::string_view bytes,
                     std::string* message) {
  program::AppendVarInt(protozero::proto_utils::MakeTagLengthDelimited(id),
                        message);
  program::AppendVarInt(bytes.size(), message);
  *message += bytes;
}

}  // namespace

uint64_t BatchDeadline() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec) + kExportNs;
}

void SpanBatches::Add(otlp::Signal signal,
                      const std::string& resource,
                      const std::string& scope,
                      std::string_view record) {
  Collected& collected = collected_[static_cast<int>(signal)];
  // ScopeLogs has the same numbers.
  AppendSpanField(schema::ScopeSpans::kSpansFieldNumber, record,
                  &collected.records[{resource, scope}]);
  collected.bytes += record.size();
  if (++collected.count == kMaxCount || collected.bytes >= kMaxBytes)
    Send(signal);
}

void SpanBatches::SendAll() {
  Send(otlp::Signal::kSpans);
  Send(otlp::Signal::kLogs);
}

void SpanBatches::Flush() {
  SendAll();
  if (!sink_->Flush())
    reason_ = "not all could be written";
}

void SpanBatches::Send(otlp::Signal signal) {
  Collected& collected = collected_[static_cast<int>(signal)];
  if (collected.count == 0)
    return;
  std::string request;
  for (auto it = collected.records.begin(); it != collected.records.end();) {
    const std::string resource = it->first.first;
    std::string message;
    AppendSpanField(schema::ResourceSpans::kResourceFieldNumber, resource,
                    &message);
    for (; it != collected.records.end() && it->first.first == resource; ++it) {
      std::string scope;
      AppendSpanField(schema::InstrumentationScope::kNameFieldNumber,
                      it->first.second, &scope);
      std::string scope_spans;
      AppendSpanField(schema::ScopeSpans::kScopeFieldNumber, scope,
                      &scope_spans);
      scope_spans += it->second;
      AppendSpanField(schema::ResourceSpans::kScopeSpansFieldNumber,
                      scope_spans, &message);
    }
    AppendSpanField(schema::TracesData::kResourceSpansFieldNumber, message,
                    &request);
  }
  const otlp::ExportResult result =
      sink_->Export({signal, reinterpret_cast<const uint8_t*>(request.data()),
                     request.size(), collected.count, BatchDeadline()});
  exported_ += result.exported;
  failed_ += collected.count - result.exported;
  if (result.reason != nullptr)
    reason_ = result.reason;
  collected = Collected();
}

}  // namespace pztrace
