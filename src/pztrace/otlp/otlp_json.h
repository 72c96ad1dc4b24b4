// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_JSON_H_
#define SRC_PZTRACE_OTLP_OTLP_JSON_H_

#include <string>
#include <string_view>

namespace pztrace {

// Appends the bytes of the TracesData or LogsData that |json| has in OTLP's
// form of JSON. Unknown names are skipped, as the specification says. False if
// it is not JSON.
bool AppendOtlpOfJson(std::string_view json, std::string* bytes);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_JSON_H_
