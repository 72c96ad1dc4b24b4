// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_ARGS_TO_JSON_H_
#define SRC_PZTRACE_TABLES_ARGS_TO_JSON_H_

struct sqlite3;

namespace pztrace {

// Adds the function __args_to_json(key, value_type, int_value, real_value,
// string_value): of the rows of a set in their order, it makes a JSON object
// that is nested as the keys say. Returns a result code of SQLite.
int AddArgsToJson(sqlite3* database);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_ARGS_TO_JSON_H_
