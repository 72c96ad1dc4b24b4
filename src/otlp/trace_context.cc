// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/trace_context.h"

#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

// Reads lower-case digits, the only ones that the header may have.
bool ParseHex(std::string_view text, uint8_t* bytes) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else {
      return false;
    }
    const int high = i % 2 == 0 ? 0 : bytes[i / 2] << 4;
    bytes[i / 2] = static_cast<uint8_t>(high | digit);
  }
  return true;
}

char* AppendHex(const uint8_t* bytes, size_t size, char* pos) {
  for (size_t i = 0; i < size; ++i) {
    *pos++ = "0123456789abcdef"[bytes[i] >> 4];
    *pos++ = "0123456789abcdef"[bytes[i] & 15];
  }
  return pos;
}

}  // namespace

std::optional<SpanContext> SpanContext::FromHeaders(
    std::string_view trace_parent,
    std::string_view trace_state) {
  // version "-" trace-id "-" parent-id "-" flags
  const std::string_view text = trace_parent;
  if (text.size() < kTraceParentSize || text[2] != '-' || text[35] != '-' ||
      text[52] != '-') {
    return std::nullopt;
  }
  uint8_t version = 0, trace_flags = 0;
  SpanContext context;
  if (!ParseHex(text.substr(0, 2), &version) ||
      !ParseHex(text.substr(3, 32), context.trace_id.bytes) ||
      !ParseHex(text.substr(36, 16), context.span_id.bytes) ||
      !ParseHex(text.substr(53, 2), &trace_flags)) {
    return std::nullopt;
  }
  const bool is_longer = text.size() > kTraceParentSize;
  if (version == 0xff || (is_longer && version == 0) ||
      (is_longer && text[kTraceParentSize] != '-') || !context.IsValid()) {
    return std::nullopt;
  }
  // No version defines the others for all programs.
  context.flags = trace_flags & kSampled;
  context.is_remote = true;
  if (!trace_state.empty()) {
    if (auto state = TraceState::Parse(trace_state))
      context.trace_state = std::move(*state);
  }
  return context;
}

void SpanContext::WriteTraceParent(char* text) const {
  constexpr uint8_t kVersion = 0;
  char* pos = AppendHex(&kVersion, 1, text);
  *pos++ = '-';
  pos = AppendHex(trace_id.bytes, TraceId::kSize, pos);
  *pos++ = '-';
  pos = AppendHex(span_id.bytes, SpanId::kSize, pos);
  *pos++ = '-';
  const uint8_t known_flags = flags & kSampled;
  AppendHex(&known_flags, 1, pos);
}

std::string SpanContext::TraceParent() const {
  std::string text(kTraceParentSize, '\0');
  WriteTraceParent(text.data());
  return text;
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
