// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_DATABASE_H_
#define SRC_PZTRACE_TRACE_DATABASE_H_

#include <string>

#include "src/pztrace/database.h"
#include "src/pztrace/trace_input.h"

namespace pztrace {

// Writes the whole |input|, which is called |file_name|, to tables of an empty
// |database|. docs/sql.md describes them. Returns false, and has printed why,
// if the trace is damaged, or the database takes no more.
bool WriteTraceDatabase(const std::string& file_name,
                        TraceInput* input,
                        Database* database);

// Does the same with the file |path|, which it makes or replaces. If that does
// not work, there is no such file.
bool MakeTraceDatabase(const std::string& file_name,
                       TraceInput* input,
                       const std::string& path);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_DATABASE_H_
