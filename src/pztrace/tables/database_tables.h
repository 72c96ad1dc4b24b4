// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_DATABASE_TABLES_H_
#define SRC_PZTRACE_TABLES_DATABASE_TABLES_H_

#include <map>
#include <memory>
#include <string>

#include "src/pztrace/tables/stored_table.h"

struct sqlite3;

namespace pztrace {

// The tables of a database in memory, by name. They stay at their addresses.
using StoredTables = std::map<std::string, std::unique_ptr<StoredTable>>;

// Lets |database| read |tables|, each of which is declared by
//
//   CREATE VIRTUAL TABLE name USING trace(the columns of the StoredTable)
//
// The contents may be added once a statement is prepared, before it is run.
// Returns a result code of SQLite. REQUIRES: |tables| outlive |database|, and
// each has been added when it is declared.
int AddTraceModule(sqlite3* database, StoredTables* tables);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_DATABASE_TABLES_H_
