// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/database_tables.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <optional>
#include <string>
#include <string_view>

namespace pztrace {

namespace {

using ColumnType = StoredTable::Column::Type;

// The plans of SQLite for a table: to read all rows, or those that have a
// number or a text in the column kFirstColumn + N.
constexpr int kAllRows = 0;
constexpr int kFirstColumn = 1;

// Guesses of the rows of a table, as SQLite's own, and of those that have a
// certain number or text: numbers are mostly ids, and texts names.
constexpr int kRows = 1 << 20;
constexpr int kRowsOfNumber = 4;
constexpr int kRowsOfText = kRows / 4;

struct TraceTable : sqlite3_vtab {
  explicit TraceTable(StoredTable* table) : sqlite3_vtab(), stored(table) {}

  StoredTable* const stored;
};

struct TraceCursor : sqlite3_vtab_cursor {
  explicit TraceCursor(StoredTable* table)
      : sqlite3_vtab_cursor(), stored(table), rows(table) {}

  StoredTable* const stored;
  StoredRows rows;
};

TraceCursor& CursorOf(sqlite3_vtab_cursor* cursor) {
  return *static_cast<TraceCursor*>(cursor);
}

// |arguments| are the module, the database, the table and its columns.
int Connect(sqlite3* database,
            void* tables,
            int num_arguments,
            const char* const* arguments,
            sqlite3_vtab** table,
            char**) {
  std::string declaration = "CREATE TABLE x(";
  for (int i = 3; i < num_arguments; ++i) {
    // SQLite has no computed columns in such tables.
    const std::string_view column = arguments[i];
    declaration += std::string(i == 3 ? "" : ",");
    declaration += column.substr(0, column.find(" AS ("));
  }
  const int result =
      sqlite3_declare_vtab(database, (declaration + ")").c_str());
  if (result != SQLITE_OK)
    return result;
  // Views may use it, although the database's own statements are not trusted.
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  *table = new TraceTable(
      static_cast<StoredTables*>(tables)->at(arguments[2]).get());
  return SQLITE_OK;
}

// Makes a table as Connect() does. If it was that function, SQLite would take
// "trace" itself for a table.
int Create(sqlite3* database,
           void* tables,
           int num_arguments,
           const char* const* arguments,
           sqlite3_vtab** table,
           char** error) {
  return Connect(database, tables, num_arguments, arguments, table, error);
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<TraceTable*>(table);
  return SQLITE_OK;
}

// Returns whether rows can be found by what |index| wants of a column: that it
// is the same number, or byte for byte the same text.
bool CanFind(StoredTable* stored, sqlite3_index_info* index, int constraint) {
  const auto& wanted = index->aConstraint[constraint];
  if (!wanted.usable || wanted.op != SQLITE_INDEX_CONSTRAINT_EQ ||
      wanted.iColumn < 0) {
    return false;
  }
  const size_t place = stored->PlaceOf(wanted.iColumn);
  if (place == StoredTable::kNull)
    return false;
  const auto& column = stored->columns()[place];
#if SQLITE_VERSION_NUMBER >= 3038000
  // Rows for several texts would not be in the order of the table.
  if (column.type == ColumnType::kText &&
      sqlite3_vtab_in(index, constraint, -1))
    return false;
#endif
  return column.is_read &&
         (column.type == ColumnType::kInteger ||
          (column.type == ColumnType::kText &&
           strcmp(sqlite3_vtab_collation(index, constraint), "BINARY") == 0));
}

// Lets the rows have the order that |index| wants, and returns whether it can.
// SQLite's own sort takes much longer, and is needed even to group rows.
bool SetOrder(StoredTable* stored, sqlite3_index_info* index) {
  std::string order;
  for (int i = 0; i < index->nOrderBy; ++i) {
    const auto& wanted = index->aOrderBy[i];
    if (wanted.iColumn < 0)
      return false;
    const size_t place = stored->PlaceOf(wanted.iColumn);
    if (place == StoredTable::kNull)
      return false;
    const auto& column = stored->columns()[place];
    if (!column.is_read || column.type == ColumnType::kReal)
      return false;
    order += (wanted.desc ? "-" : "") + std::to_string(place + 1) + ' ';
  }
  index->idxStr = sqlite3_mprintf("%s", order.c_str());
  index->needToFreeIdxStr = 1;
  return index->idxStr != nullptr;
}

// Returns the order in the text that SetOrder() has made.
StoredTable::Order OrderOf(const char* text) {
  StoredTable::Order order;
  char* end = nullptr;
  for (long column = strtol(text, &end, 10); end != text;
       column = strtol(text, &end, 10)) {
    order.push_back(static_cast<int>(column));
    text = end;
  }
  return order;
}

// Notes the columns that the query reads, for SQLite asks this as it prepares
// it. Chooses the column to find rows by: the key, or one of numbers rather
// than one of texts.
int BestIndex(sqlite3_vtab* table, sqlite3_index_info* index) {
  StoredTable* const stored = static_cast<TraceTable*>(table)->stored;
  stored->SetRead(index->colUsed);
  const auto rank = [stored](int column) {
    const size_t place = stored->PlaceOf(column);
    if (place == 0 && stored->has_key())
      return 2;
    return stored->columns()[place].type != ColumnType::kText ? 1 : 0;
  };
  int best = -1;
  for (int i = 0; i < index->nConstraint; ++i) {
    if (CanFind(stored, index, i) &&
        (best < 0 || rank(index->aConstraint[i].iColumn) >
                         rank(index->aConstraint[best].iColumn))) {
      best = i;
    }
  }
  index->idxNum = kAllRows;
  index->estimatedRows = kRows;
  index->estimatedCost = kRows;
  const bool is_in_order = index->nOrderBy == 1 && stored->has_key() &&
                           index->aOrderBy[0].iColumn >= 0 &&
                           stored->PlaceOf(index->aOrderBy[0].iColumn) == 0 &&
                           !index->aOrderBy[0].desc;
  index->orderByConsumed = is_in_order || (best < 0 && index->nOrderBy != 0 &&
                                           SetOrder(stored, index));
  if (best < 0)
    return SQLITE_OK;
  const int column = index->aConstraint[best].iColumn;
  const bool is_key = rank(column) == 2;
  index->idxNum = kFirstColumn + static_cast<int>(stored->PlaceOf(column));
  index->aConstraintUsage[best].argvIndex = 1;
  index->estimatedRows = is_key              ? 1
                         : rank(column) == 1 ? kRowsOfNumber
                                             : kRowsOfText;
  index->estimatedCost = static_cast<double>(2 * index->estimatedRows);
  if (is_key)
    index->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  return SQLITE_OK;
}

int Open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  *cursor = new TraceCursor(static_cast<TraceTable*>(table)->stored);
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<TraceCursor*>(cursor);
  return SQLITE_OK;
}

// Goes to the rows that may have |value| in the column. SQLite compares it once
// more, and converts it: "5" is found in a column of numbers.
void Find(size_t column, sqlite3_value* value, TraceCursor* cursor) {
  const int type = sqlite3_value_type(value);
  const bool is_text =
      cursor->stored->columns()[column].type == ColumnType::kText;
  if (type == SQLITE_NULL)
    return cursor->rows.GoToNone();
  if (type == SQLITE_INTEGER && !is_text)
    return cursor->rows.GoTo(column, sqlite3_value_int64(value));
  if (type != SQLITE_TEXT || !is_text)
    return cursor->rows.GoToAll();
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto number = cursor->stored->texts()->Find(
      {text, static_cast<size_t>(sqlite3_value_bytes(value))});
  if (number)
    cursor->rows.GoTo(column, *number);
  else
    cursor->rows.GoToNone();
}

int Filter(sqlite3_vtab_cursor* cursor,
           int plan,
           const char* order,
           int,
           sqlite3_value** values) {
  TraceCursor& rows = CursorOf(cursor);
  if (plan == kAllRows && order != nullptr)
    rows.rows.GoToAllBy(OrderOf(order));
  else if (plan == kAllRows)
    rows.rows.GoToAll();
  else
    Find(static_cast<size_t>(plan - kFirstColumn), values[0], &rows);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* cursor) {
  CursorOf(cursor).rows.Next();
  return SQLITE_OK;
}

int IsAtEnd(sqlite3_vtab_cursor* cursor) {
  return CursorOf(cursor).rows.is_at_end();
}

int GiveCell(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  const TraceCursor& rows = CursorOf(cursor);
  const size_t place = rows.stored->PlaceOf(index);
  if (place == StoredTable::kNull)
    return SQLITE_OK;
  const auto& column = rows.stored->columns()[place];
  if (!column.is_read)
    return SQLITE_OK;
  const auto number = column.numbers.Get(rows.rows.row());
  if (!number)
    return SQLITE_OK;
  switch (column.type) {
    case ColumnType::kInteger:
      sqlite3_result_int64(context, *number);
      break;
    case ColumnType::kReal: {
      double value;
      memcpy(&value, &*number, sizeof(value));
      sqlite3_result_double(context, value);
      break;
    }
    case ColumnType::kText: {
      const std::string_view text =
          rows.stored->texts()->Get(static_cast<uint32_t>(*number));
      sqlite3_result_text64(context, text.data(), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8);
      break;
    }
  }
  return SQLITE_OK;
}

int GiveRowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  const TraceCursor& rows = CursorOf(cursor);
  const uint32_t row = rows.rows.row();
  *id = rows.stored->has_key()
            ? rows.stored->columns()[0].numbers.Get(row).value_or(0)
            : int64_t{row} + 1;
  return SQLITE_OK;
}

// Lets SQLite ask the authorizer, which forbids it, whether to change a row.
int Update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) {
  return SQLITE_READONLY;
}

sqlite3_module TraceModule() {
  sqlite3_module module = {};
  module.xCreate = Create;
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xDestroy = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = IsAtEnd;
  module.xColumn = GiveCell;
  module.xRowid = GiveRowId;
  module.xUpdate = Update;
  return module;
}

}  // namespace

int AddTraceModule(sqlite3* database, StoredTables* tables) {
  static const sqlite3_module kModule = TraceModule();
  return sqlite3_create_module(database, "trace", &kModule, tables);
}

}  // namespace pztrace
