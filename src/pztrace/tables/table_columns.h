// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_TABLE_COLUMNS_H_
#define SRC_PZTRACE_TABLES_TABLE_COLUMNS_H_

#include <stdint.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/table/row_writer.h"

// A table is declared once, as the columns of its rows:
//
//   struct Song {
//     uint64_t dur() const { return end_ns - begin_ns; }
//     std::string title;
//     uint64_t begin_ns, end_ns;
//   };
//   constexpr std::tuple kSongTable{
//       TableColumn{"title", "as on the cover", &Song::title},
//       TableColumn{"dur", "", &Song::dur, Unit::kNs}};
//   WriteRow(kSongTable, song, rows);
//
// The types of columns are those of the values. The writers of all formats, the
// tables of SQL, and the tables of the documentation follow from this.

namespace pztrace {

enum class Unit { kNone, kNs };

enum class ValueType {
  kText,
  kBool,
  kInt64,
  kUint32,
  kUint64,
  kDouble,
  kObject,   // A JSON object.
  kNumbers,  // A JSON array of numbers.
  kKey,      // An int64_t, the primary key.
};

// A column. |read|, a member, is the value in a row.
template <typename Read>
struct TableColumn {
  std::string_view name;
  // A sentence about the values. Empty if the name says enough, or the sentence
  // of the column before is about both.
  std::string_view about;
  Read read;
  Unit unit = Unit::kNone;
};

template <typename Read>
TableColumn(std::string_view, std::string_view, Read, Unit = Unit::kNone)
    -> TableColumn<Read>;

// The description of a column.
struct ColumnInfo {
  std::string_view name;
  std::string_view about;
  Unit unit;
  ValueType type;
  bool is_nullable;
  // If it is not written: the expression of SQL for it, of other columns.
  std::string_view expression = {};
};

// The description of a table.
struct TableInfo {
  std::string_view name;
  std::string_view about;  // Ends "a row for each".
  std::vector<ColumnInfo> columns;
};

// Values of columns that the standard library has no type for.

template <typename Text>
struct JsonObject {
  static constexpr ValueType kType = ValueType::kObject;
  void WriteTo(table::RowWriter* rows) const { rows->Json(json); }

  Text json;
};

template <typename Text>
JsonObject(Text) -> JsonObject<Text>;

struct JsonNumbers {
  static constexpr ValueType kType = ValueType::kNumbers;
  void WriteTo(table::RowWriter* rows) const { rows->Json(json); }

  std::string_view json;
};

struct PrimaryKey {
  static constexpr ValueType kType = ValueType::kKey;
  void WriteTo(table::RowWriter* rows) const { rows->Number(number); }

  int64_t number;
};

// A number that is null only in rows that a user has asked for, so that a
// database needs no null for it.
struct RarelyNull {
  static constexpr ValueType kType = ValueType::kUint64;
  void WriteTo(table::RowWriter* rows) const {
    if (is_null)
      rows->Null();
    else
      rows->Number(number);
  }

  bool is_null;
  uint64_t number;
};

using TextCell = std::optional<std::string_view>;
using NumberCell = std::optional<uint32_t>;

// Return null for no text, and for the number 0.
inline TextCell TextOrNull(std::string_view text) {
  return text.empty() ? std::nullopt : TextCell(text);
}
inline NumberCell NumberOrNull(uint32_t number) {
  return number == 0 ? std::nullopt : NumberCell(number);
}

template <typename T>
inline constexpr bool kIsNullable = false;
template <typename T>
inline constexpr bool kIsNullable<std::optional<T>> = true;

template <typename T>
constexpr ValueType ValueTypeOf() {
  if constexpr (kIsNullable<T>)
    return ValueTypeOf<typename T::value_type>();
  else if constexpr (std::is_same_v<T, bool>)
    return ValueType::kBool;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ValueType::kInt64;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return ValueType::kUint32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return ValueType::kUint64;
  else if constexpr (std::is_same_v<T, double>)
    return ValueType::kDouble;
  else if constexpr (std::is_convertible_v<T, std::string_view>)
    return ValueType::kText;
  else
    return T::kType;
}

template <typename T>
void WriteCell(const T& value, table::RowWriter* rows) {
  if constexpr (kIsNullable<T>) {
    if (value)
      WriteCell(*value, rows);
    else
      rows->Null();
  } else if constexpr (std::is_same_v<T, bool>) {
    rows->Bool(value);
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    rows->Number(uint64_t{value});
  } else if constexpr (std::is_arithmetic_v<T>) {
    rows->Number(value);
  } else if constexpr (ValueTypeOf<T>() == ValueType::kText) {
    rows->Text(value);
  } else {
    value.WriteTo(rows);
  }
}

// Writes the cells of |columns|, a part of a row or all of it.
template <typename Columns, typename Row>
void WriteCells(const Columns& columns,
                const Row& row,
                table::RowWriter* rows) {
  std::apply(
      [&](const auto&... column) {
        (WriteCell(std::invoke(column.read, row), rows), ...);
      },
      columns);
}

// Writes a row of |columns|.
template <typename Columns, typename Row>
void WriteRow(const Columns& columns, const Row& row, table::RowWriter* rows) {
  WriteCells(columns, row, rows);
  rows->EndRow();
}

// Returns the description of a column of a |Row|.
template <typename Row, typename Read>
constexpr ColumnInfo InfoOfColumn(const TableColumn<Read>& column) {
  using Value = std::decay_t<std::invoke_result_t<const Read&, const Row&>>;
  return {column.name, column.about, column.unit, ValueTypeOf<Value>(),
          kIsNullable<Value>};
}

// Returns the descriptions of |columns|, which read a |Row|.
template <typename Row, typename Columns>
std::vector<ColumnInfo> InfosOf(const Columns& columns) {
  return std::apply(
      [](const auto&... column) {
        return std::vector<ColumnInfo>{InfoOfColumn<Row>(column)...};
      },
      columns);
}

// Returns a column that is not written: it repeats the one called |column|, or
// is null if that is "NULL".
inline ColumnInfo RepeatedColumn(std::string_view name,
                                 std::string_view column,
                                 std::string_view about = "",
                                 ValueType type = ValueType::kInt64) {
  return {name, about, Unit::kNone, type, true, column};
}

// Returns the columns of all |parts| of a table.
std::vector<ColumnInfo> Joined(
    const std::vector<std::vector<ColumnInfo>>& parts);

// Returns the columns as writers of rows need them.
std::vector<table::Column> ColumnsOf(const std::vector<ColumnInfo>& infos);

// Returns the columns as in SQLite's CREATE TABLE. REQUIRES: those that are not
// written are the last ones.
std::string SqlColumnsOf(const std::vector<ColumnInfo>& infos);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_TABLE_COLUMNS_H_
