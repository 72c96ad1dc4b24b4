// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_ARG_ROWS_H_
#define SRC_PZTRACE_TABLES_ARG_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/table/row_writer.h"

namespace pztrace {

// Writes the arguments of events as rows, one for each value in them:
//
//   "a.b":{"c":[7,true]}, and the field "source_location":{"line_number":3}
//
//   arg_set_id  flat_key            key                int_value ...
//   1           debug.a_b.c         debug.a_b.c[0]     7
//   1           debug.a_b.c         debug.a_b.c[1]     1
//   1           source.line_number  the same           3
//
// The keys are those of Perfetto's trace processor: those of debug annotations
// begin with "debug.", some fields have other names, and extensions have no
// package.
class ArgRows final : public program::ValueSink {
 public:
  static std::vector<ColumnInfo> Columns();

  // Without |shows_values|, the column display_value is not written: it is
  // computed of the others, or not read. REQUIRES: |rows| outlives it.
  ArgRows(table::RowWriter* rows, bool shows_values)
      : rows_(rows), shows_values_(shows_values) {}

  // Begins the rows of an event, whose arguments have |size| bytes. Then come
  // the members of a dictionary, and FinishSet().
  void BeginSet(int64_t set, size_t size);
  void FinishSet();

  // Counts the values whose key another one of their event has, because '.',
  // '[' and ']' in a name are '_', and extensions have no package.
  uint64_t ambiguous() const { return num_ambiguous_; }

  void Begin(Container container) override;
  void End() override;
  void Name(std::string_view name, NameKind kind = NameKind::kFree) override;
  void Add(const program::Value& value) override;

 private:
  // A dictionary or an array, and its keys.
  struct Level {
    Container container;
    std::string flat_key;
    std::string key;
    size_t num_values = 0;
  };

  // Has a function for each type of a value, which writes its row.
  struct ValueWriter;

  // Sets the keys of the next value.
  void BeginValue();
  void ResetKeys();
  void ShowAsPerfetto();
  // Begins to take all that is left of the innermost container as one row.
  void BeginRest();
  void EndRest();
  void AddText(const char* type, std::string_view text);
  // Writes a row, whose value is in one of the last three columns, or null.
  void AddRow(const char* type,
              std::optional<int64_t> integer,
              std::optional<double> real = std::nullopt,
              std::optional<std::string_view> text = std::nullopt);

  table::RowWriter* const rows_;
  const bool shows_values_;
  int64_t id_ = 0;  // That of the next row.
  int64_t set_ = 0;
  std::vector<Level> levels_;
  std::string flat_key_;
  std::string key_;
  // The bytes that the keys of the event may still take. Then what is left is
  // one text, so that the rows do not grow out of proportion.
  size_t budget_ = 0;
  std::string rest_json_;
  std::optional<program::JsonValues> rest_;
  std::vector<size_t> keys_;  // The hashes of the keys of the event.
  bool has_changed_name_ = false;
  uint64_t num_ambiguous_ = 0;
  size_t rest_depth_ = 0;  // The number of open containers within it.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_ARG_ROWS_H_
