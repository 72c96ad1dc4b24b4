// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_HTTP_HTTP_ANSWER_H_
#define SRC_OTLP_HTTP_HTTP_ANSWER_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The part of an answer's body that ExportTraceServiceResponse and
// ExportLogsServiceResponse have in common.
struct PartialSuccess {
  // Any number: the server says it.
  int64_t rejected = 0;
  std::string_view message;
};

// Reads the body of a success. What is malformed is left out.
PartialSuccess ReadPartialSuccess(ConstBytes body);

// Returns the message in the body of a failure: that of a google.rpc.Status, or
// a text. A page of HTML has none.
std::string_view ReadFailureMessage(ConstBytes body);

// True if a request with this status may succeed later.
bool MayBeTriedAgain(long status);

// Appends |text| to the text in |buffer|, cut off where it does not fit. A
// character that does not print, as a server may send it, becomes a space.
void AppendPrintable(std::string_view text, char* buffer, size_t size);

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_HTTP_HTTP_ANSWER_H_
