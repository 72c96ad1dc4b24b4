// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_FILE_H_
#define SRC_PZTRACE_OTLP_OTLP_FILE_H_

#include <string>
#include <string_view>
#include <vector>

namespace pztrace {

// Returns whether a file that begins so has spans or logs of OpenTelemetry: a
// TracesData or LogsData, several of them after their sizes (varints, or four
// bytes, the highest first), or one in JSON a line.
bool IsOtlp(std::string_view begin);

// Returns the reason if such a file has something else of OpenTelemetry; empty
// for any other file.
std::string WhyNotOtlp(std::string_view begin);

// Finds all of them in the file whose content is |*content|, as messages in
// there, whose field 1 has ResourceSpans and ResourceLogs. JSON is replaced by
// such a message. Returns the problem if the file is broken, with all that is
// before found; otherwise an empty string.
std::string FindOtlpMessages(std::string* content,
                             std::vector<std::string_view>* messages);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_FILE_H_
