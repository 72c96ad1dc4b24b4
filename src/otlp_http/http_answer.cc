// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp_http/http_answer.h"

#include <string.h>

#include <algorithm>

#include "protozero/field.h"
#include "protozero/proto_decoder.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

using WireType = proto_utils::ProtoWireType;

std::string_view TextOf(const Field& field) {
  const ConstChars text = field.as_string();
  return {text.data, text.size};
}

}  // namespace

PartialSuccess ReadPartialSuccess(ConstBytes body) {
  // message ExportTraceServiceResponse {
  //   message ExportTracePartialSuccess {
  //     int64 rejected_spans = 1;
  //     string error_message = 2;
  //   }
  //   ExportTracePartialSuccess partial_success = 1;
  // }
  PartialSuccess result;
  ProtoDecoder response(body);
  for (Field outer = response.ReadField(); outer;
       outer = response.ReadField()) {
    if (outer.id() != 1 || outer.type() != WireType::kLengthDelimited)
      continue;
    ProtoDecoder partial(outer.as_bytes());
    for (Field field = partial.ReadField(); field;
         field = partial.ReadField()) {
      if (field.id() == 1 && field.type() == WireType::kVarInt)
        result.rejected = field.as_int64();
      else if (field.id() == 2 && field.type() == WireType::kLengthDelimited)
        result.message = TextOf(field);
    }
  }
  return result;
}

std::string_view ReadFailureMessage(ConstBytes body) {
  std::string_view message;
  ProtoDecoder status(body);
  for (Field field = status.ReadField(); field; field = status.ReadField()) {
    if (field.id() == 2 && field.type() == WireType::kLengthDelimited)
      message = TextOf(field);
  }
  if (status.bytes_left() == 0 && !message.empty())
    return message;
  // Proxies and gateways answer with text or JSON, and with pages.
  constexpr size_t kMaxText = 256;
  const std::string_view text(reinterpret_cast<const char*>(body.data),
                              body.size);
  const auto is_text = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' ||
           c == '\t';
  };
  const size_t begin = text.find_first_not_of(" \r\n\t");
  if (begin == std::string_view::npos || text[begin] == '<' ||
      !std::all_of(text.begin(), text.end(), is_text))
    return {};
  const size_t end = text.find_last_not_of(" \r\n\t") + 1;
  return text.substr(begin, std::min(end - begin, kMaxText));
}

bool MayBeTriedAgain(long status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

void AppendPrintable(std::string_view text, char* buffer, size_t size) {
  size_t used = strlen(buffer);
  for (const char c : text) {
    if (used + 1 >= size)
      break;
    const auto byte = static_cast<unsigned char>(c);
    buffer[used++] = byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  buffer[used] = '\0';
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
