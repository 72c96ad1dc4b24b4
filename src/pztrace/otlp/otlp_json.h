// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_JSON_H_
#define SRC_PZTRACE_OTLP_OTLP_JSON_H_

#include <string>
#include <string_view>

namespace pztrace {

// A list in an attribute is three levels, and a span is at the tenth.
inline constexpr int kMaxOtlpJsonDepth = 128;

// Appends the bytes of the TracesData or LogsData that |json| has in OTLP's
// form of JSON. Unknown names are skipped, as the specification says. Ids in
// Base64 and names of enumerations are read, as libraries of protobuf write
// them. A value that cannot be its field's is left out, and a |fault| if there
// is none yet. False if it is not JSON, or nests more than kMaxOtlpJsonDepth
// objects and lists.
bool AppendOtlpOfJson(std::string_view json,
                      std::string* bytes,
                      std::string* fault);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_JSON_H_
