// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_FILE_H_
#define SRC_PZTRACE_OTLP_OTLP_FILE_H_

#include <string>
#include <string_view>

namespace pztrace {

// Returns whether a file that begins so has spans or logs of OpenTelemetry: a
// TracesData or LogsData, several of them after their sizes (varints, or four
// bytes, the highest first), or one in JSON a line.
bool IsOtlp(std::string_view begin);

// Returns the reason if such a file has something else of OpenTelemetry; empty
// for any other file.
std::string WhyNotOtlp(std::string_view begin);

// Appends the bytes of all of them in the file, whose content is |bytes|, as
// one message: its field 1 has ResourceSpans and ResourceLogs. Returns the
// problem if the file is broken, with all that is before appended; otherwise an
// empty string.
std::string AppendOtlpOfFile(std::string_view bytes, std::string* message);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_FILE_H_
