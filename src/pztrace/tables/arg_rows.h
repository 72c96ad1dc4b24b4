// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_ARG_ROWS_H_
#define SRC_PZTRACE_TABLES_ARG_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

#include "src/table/row_writer.h"

namespace pztrace {

// Writes the arguments of events as rows, one for each value in them:
//
//   "a":{"b":[7,true]},"source_location":{"line_number":3}
//
//   arg_set_id  flat_key                     key            int_value ...
//   1           debug.a.b                    debug.a.b[0]   7
//   1           debug.a.b                    debug.a.b[1]   1
//   1           source_location.line_number  the same       3
//
// The keys of debug annotations begin with "debug.", as in Perfetto's trace
// processor.
class ArgRows {
 public:
  static constexpr size_t kNumColumns = 7;
  // The columns: the set, both keys, value_type, and the value in one of three.
  static constexpr char kColumns[] =
      "arg_set_id INTEGER, flat_key TEXT, key TEXT, value_type TEXT, "
      "int_value INTEGER, real_value REAL, string_value TEXT";

  // REQUIRES: |rows| outlives it.
  explicit ArgRows(table::RowWriter* rows) : rows_(rows) {}

  // Writes the rows of an event. |members| are those of a JSON object, as
  // TimelineReader makes them.
  void Add(int64_t set, std::string_view members);

 private:
  // Write the rows of what |json| begins with, and take that away.
  void AddMembers(int depth, std::string_view* json);
  void AddElements(int depth, std::string_view* json);
  void AddValue(int depth, std::string_view* json);
  void AddContainer(int depth, std::string_view* json);
  // Writes all of a container that is left as one row.
  void AddRest(std::string_view* json);
  void AddNumber(std::string_view text);
  void AddInteger(const char* type, int64_t value);
  void AddText(const char* type, std::string_view text);
  void BeginRow(const char* type);

  table::RowWriter* const rows_;
  int64_t set_ = 0;
  std::string flat_key_;
  std::string key_;
  // The bytes that the keys of the event may still take. Then what is left is
  // one text, so that the rows do not grow out of proportion.
  size_t budget_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_ARG_ROWS_H_
