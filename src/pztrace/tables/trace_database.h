// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_TRACE_DATABASE_H_
#define SRC_PZTRACE_TABLES_TRACE_DATABASE_H_

#include <string>

#include "src/pztrace/tables/database.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

// Makes the tables of a trace in an empty |database|. docs/sql.md describes
// them. Returns false if the database has failed.
bool MakeTraceTables(Database* database);

// Writes the whole |input|, which is called |file_name|, to these tables, as
// far as something reads them. Returns false, and has printed why, if the trace
// is damaged.
bool FillTraceTables(const std::string& file_name,
                     TraceInput* input,
                     Database* database);

// Makes a database of the whole |input| in the file |path|, which may be there.
// Returns false, and has printed why, if the trace is damaged, or the database
// takes no more: then there is no such file.
bool MakeTraceDatabase(const std::string& file_name,
                       TraceInput* input,
                       const std::string& path);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_TRACE_DATABASE_H_
