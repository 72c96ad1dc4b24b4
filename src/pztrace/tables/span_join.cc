// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/span_join.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/pztrace/tables/sql_script.h"
#include "src/pztrace/tables/statement_functions.h"

namespace pztrace {

namespace {

enum class JoinKind { kInner, kLeft, kOuter };

// One of the two tables.
struct JoinedTable {
  std::string name;
  std::string partition;  // Its column. Empty if there is none.
  // Columns of the query for its rows.
  int ts = -1;
  int dur = -1;
  int partition_column = -1;
};

// A column of the result: that of a table.
struct JoinedColumn {
  size_t table;
  int column;
};

struct JoinTable : sqlite3_vtab {
  JoinTable() : sqlite3_vtab() {}

  sqlite3* database = nullptr;
  JoinKind kind = JoinKind::kInner;
  JoinedTable tables[2];
  bool has_partitions = false;
  // After ts, dur and the partition.
  std::vector<JoinedColumn> columns;
};

constexpr int64_t kForever = INT64_MAX;

// The rows of a table, one after the other, and the times between them.
class SpanReader {
 public:
  // Prepares the query. Returns false if it is wrong.
  bool Open(sqlite3* database, const JoinedTable& table) {
    table_ = &table;
    std::string query = "SELECT * FROM " + table.name;
    if (!table.partition.empty()) {
      query += " WHERE " + table.partition + " IS NOT NULL ORDER BY " +
               table.partition + ", ts";
    } else {
      query += " ORDER BY ts";
    }
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr);
    statement_.reset(statement);
    return statement != nullptr;
  }

  void GoToBegin() {
    sqlite3_reset(statement_.get());
    Step();
  }
  // Returns the partition of the next row; null at the end.
  std::optional<int64_t> next_partition() const { return next_partition_; }
  // Begins a partition, which has to be that of the next row, or a later one.
  void BeginPartition(std::optional<int64_t> partition) {
    partition_ = partition;
    while (partition_ && next_partition_ && *next_partition_ < *partition_)
      Step();
    from_ = to_ = INT64_MIN;
    is_row_ = false;
    Advance();
  }
  // Goes to the next span: a row, or the time up to one.
  void Advance() {
    if (is_row_)
      Step();
    const bool has_next = has_next_ && next_partition_ == partition_;
    const int64_t next_ts = has_next ? Integer(table_->ts) : kForever;
    is_row_ = has_next && next_ts <= to_;
    from_ = is_row_ ? next_ts : to_;
    to_ = is_row_ ? EndOf(next_ts) : next_ts;
  }

  bool is_row() const { return is_row_; }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  bool Contains(int64_t ts) const {
    return ts < to_ || (ts == to_ && from_ == to_);
  }
  bool is_at_end() const { return !is_row_ && to_ == kForever; }
  int error() const { return error_; }
  sqlite3_value* Cell(int column) const {
    return sqlite3_column_value(statement_.get(), column);
  }

 private:
  int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  int64_t EndOf(int64_t ts) const {
    const int64_t dur = Integer(table_->dur);
    return dur < 0 || dur > kForever - std::max<int64_t>(ts, 0) ? kForever
                                                                : ts + dur;
  }
  void Step() {
    const int result = sqlite3_step(statement_.get());
    has_next_ = result == SQLITE_ROW;
    if (!has_next_ && result != SQLITE_DONE)
      error_ = result;
    next_partition_ = std::nullopt;
    if (has_next_ && table_->partition_column >= 0)
      next_partition_ = Integer(table_->partition_column);
  }

  const JoinedTable* table_ = nullptr;
  ScopedStatement statement_;
  bool has_next_ = false;
  std::optional<int64_t> next_partition_;
  std::optional<int64_t> partition_;
  // The current span. If it is a row, that is the statement's.
  int64_t from_ = INT64_MIN;
  int64_t to_ = INT64_MIN;
  bool is_row_ = false;
  int error_ = SQLITE_OK;
};

struct JoinCursor : sqlite3_vtab_cursor {
  JoinCursor() : sqlite3_vtab_cursor() {}

  SpanReader readers[2];
  std::optional<int64_t> partition;
  bool is_at_end = false;
  int64_t ts = 0;
  int64_t end = 0;
  int64_t row = 0;
};

JoinCursor& JoinCursorOf(sqlite3_vtab_cursor* cursor) {
  return *static_cast<JoinCursor*>(cursor);
}

const JoinTable& JoinTableOf(sqlite3_vtab_cursor* cursor) {
  return *static_cast<JoinTable*>(cursor->pVtab);
}

int Fail(const std::string& why, char** error) {
  *error = sqlite3_mprintf("%s", why.c_str());
  return SQLITE_ERROR;
}

// Reads the columns of a table. Adds those of the result.
bool AddColumns(size_t index,
                JoinTable* join,
                std::vector<std::string>* names,
                std::string* why) {
  JoinedTable& table = join->tables[index];
  sqlite3_stmt* prepared = nullptr;
  const std::string query = "SELECT * FROM " + table.name;
  sqlite3_prepare_v2(join->database, query.c_str(), -1, &prepared, nullptr);
  const ScopedStatement statement(prepared);
  if (!statement) {
    *why = sqlite3_errmsg(join->database);
    return false;
  }
  for (int i = 0; i < sqlite3_column_count(prepared); ++i) {
    const std::string name = sqlite3_column_name(prepared, i);
    const SqlToken token{name};
    if (token.Is("ts")) {
      table.ts = i;
    } else if (token.Is("dur")) {
      table.dur = i;
    } else if (!table.partition.empty() && token.Is(table.partition)) {
      table.partition_column = i;
    } else if (std::find(names->begin(), names->end(), name) != names->end()) {
      *why = "both tables have a column " + name;
      return false;
    } else {
      names->push_back(name);
      join->columns.push_back({index, i});
    }
  }
  if (table.ts < 0 || table.dur < 0)
    *why = table.name + " needs columns ts and dur";
  else if (!table.partition.empty() && table.partition_column < 0)
    *why = table.name + " has no column " + table.partition;
  return why->empty();
}

bool ReadTable(const char* argument, JoinedTable* table) {
  const std::vector<SqlToken> tokens = SqlTokensOf(argument);
  if (tokens.size() != 1 &&
      (tokens.size() != 3 || !tokens[1].Is("PARTITIONED"))) {
    return false;
  }
  table->name = tokens[0].text;
  if (tokens.size() == 3)
    table->partition = tokens[2].text;
  return true;
}

int ConnectJoin(sqlite3* database,
                JoinKind kind,
                int count,
                const char* const* arguments,
                sqlite3_vtab** table,
                char** error) {
  auto join = std::make_unique<JoinTable>();
  join->database = database;
  join->kind = kind;
  if (count != 5 || !ReadTable(arguments[3], &join->tables[0]) ||
      !ReadTable(arguments[4], &join->tables[1])) {
    return Fail("a span join takes two tables: a PARTITIONED c, b", error);
  }
  const std::string& partition = join->tables[0].partition.empty()
                                     ? join->tables[1].partition
                                     : join->tables[0].partition;
  join->has_partitions = !partition.empty();
  for (const JoinedTable& joined : join->tables) {
    if (!joined.partition.empty() && !SqlToken{partition}.Is(joined.partition))
      return Fail("the columns of the partitions have two names", error);
  }
  std::vector<std::string> names;
  std::string why;
  if (!AddColumns(0, join.get(), &names, &why) ||
      !AddColumns(1, join.get(), &names, &why)) {
    return Fail(why, error);
  }
  std::string declaration = "CREATE TABLE x(ts INTEGER, dur INTEGER";
  if (join->has_partitions)
    declaration += ", " + partition + " INTEGER";
  for (const std::string& name : names)
    declaration += ", \"" + name + "\"";
  const int result =
      sqlite3_declare_vtab(database, (declaration + ")").c_str());
  if (result != SQLITE_OK)
    return result;
  sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
  *table = join.release();
  return SQLITE_OK;
}

template <JoinKind kKind>
int CreateJoin(sqlite3* database,
               void*,
               int count,
               const char* const* arguments,
               sqlite3_vtab** table,
               char** error) {
  return ConnectJoin(database, kKind, count, arguments, table, error);
}

int DisconnectJoin(sqlite3_vtab* table) {
  delete static_cast<JoinTable*>(table);
  return SQLITE_OK;
}

int BestJoinIndex(sqlite3_vtab*, sqlite3_index_info* index) {
  index->estimatedCost = 1e6;
  return SQLITE_OK;
}

int OpenJoin(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  const auto& join = *static_cast<JoinTable*>(table);
  auto opened = std::make_unique<JoinCursor>();
  for (size_t i = 0; i < 2; ++i) {
    if (!opened->readers[i].Open(join.database, join.tables[i]))
      return Fail(sqlite3_errmsg(join.database), &table->zErrMsg);
  }
  *cursor = opened.release();
  return SQLITE_OK;
}

int CloseJoin(sqlite3_vtab_cursor* cursor) {
  delete static_cast<JoinCursor*>(cursor);
  return SQLITE_OK;
}

// Begins the next partition. Returns false if there is none.
bool BeginNextPartition(const JoinTable& join, JoinCursor* cursor) {
  std::optional<int64_t> next;
  for (const SpanReader& reader : cursor->readers) {
    const auto partition = reader.next_partition();
    if (partition && (!next || *partition < *next))
      next = partition;
  }
  if (!next)
    return false;
  cursor->partition = next;
  for (size_t i = 0; i < 2; ++i) {
    const bool has_partitions = !join.tables[i].partition.empty();
    if (!has_partitions)
      cursor->readers[i].GoToBegin();
    cursor->readers[i].BeginPartition(has_partitions ? next : std::nullopt);
  }
  return true;
}

// Returns whether the two spans are a row of the result.
bool IsJoined(const JoinTable& join, const JoinCursor& cursor) {
  const auto& [left, right] = cursor.readers;
  const bool is_wanted = left.is_row()
                             ? right.is_row() || join.kind != JoinKind::kInner
                             : right.is_row() && join.kind == JoinKind::kOuter;
  return is_wanted && left.Contains(cursor.ts) && right.Contains(cursor.ts);
}

// Goes on to the next row, from two spans that were not looked at yet.
int FindJoin(sqlite3_vtab_cursor* vtab_cursor) {
  JoinCursor& cursor = JoinCursorOf(vtab_cursor);
  const JoinTable& join = JoinTableOf(vtab_cursor);
  auto& [left, right] = cursor.readers;
  for (;;) {
    if (left.error() != SQLITE_OK || right.error() != SQLITE_OK)
      return Fail(sqlite3_errmsg(join.database), &vtab_cursor->pVtab->zErrMsg);
    cursor.ts = std::max(left.from(), right.from());
    cursor.end = std::min(left.to(), right.to());
    if (IsJoined(join, cursor))
      return SQLITE_OK;
    if (left.is_at_end() && right.is_at_end()) {
      if (!join.has_partitions || !BeginNextPartition(join, &cursor)) {
        cursor.is_at_end = true;
        return SQLITE_OK;
      }
      continue;
    }
    const int64_t end = cursor.end;
    for (SpanReader& reader : cursor.readers) {
      if (reader.to() == end && !reader.is_at_end())
        reader.Advance();
    }
  }
}

int NextJoin(sqlite3_vtab_cursor* vtab_cursor) {
  JoinCursor& cursor = JoinCursorOf(vtab_cursor);
  ++cursor.row;
  for (SpanReader& reader : cursor.readers) {
    if (reader.to() == cursor.end && !reader.is_at_end())
      reader.Advance();
  }
  return FindJoin(vtab_cursor);
}

int FilterJoin(sqlite3_vtab_cursor* vtab_cursor,
               int,
               const char*,
               int,
               sqlite3_value**) {
  JoinCursor& cursor = JoinCursorOf(vtab_cursor);
  const JoinTable& join = JoinTableOf(vtab_cursor);
  cursor.is_at_end = false;
  for (SpanReader& reader : cursor.readers)
    reader.GoToBegin();
  if (!join.has_partitions) {
    for (SpanReader& reader : cursor.readers)
      reader.BeginPartition(std::nullopt);
  } else if (!BeginNextPartition(join, &cursor)) {
    cursor.is_at_end = true;
    return SQLITE_OK;
  }
  return FindJoin(vtab_cursor);
}

int IsJoinAtEnd(sqlite3_vtab_cursor* cursor) {
  return JoinCursorOf(cursor).is_at_end;
}

int GiveJoinCell(sqlite3_vtab_cursor* vtab_cursor,
                 sqlite3_context* context,
                 int column) {
  const JoinCursor& cursor = JoinCursorOf(vtab_cursor);
  const JoinTable& join = JoinTableOf(vtab_cursor);
  const int num_own = join.has_partitions ? 3 : 2;
  if (column >= num_own) {
    const auto& [table, index] =
        join.columns[static_cast<size_t>(column - num_own)];
    if (cursor.readers[table].is_row())
      sqlite3_result_value(context, cursor.readers[table].Cell(index));
    return SQLITE_OK;
  }
  sqlite3_result_int64(context, column == 0   ? cursor.ts
                                : column == 2 ? cursor.partition.value_or(0)
                                : cursor.end == kForever
                                    ? -1
                                    : cursor.end - cursor.ts);
  return SQLITE_OK;
}

int GiveJoinRowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = JoinCursorOf(cursor).row;
  return SQLITE_OK;
}

template <JoinKind kKind>
int AddJoin(const char* name, sqlite3* database) {
  static const sqlite3_module kModule = [] {
    sqlite3_module module = {};
    // It is made with arguments, so that it is no table of its own name.
    module.xCreate = [](auto... arguments) {
      return CreateJoin<kKind>(arguments...);
    };
    module.xConnect = CreateJoin<kKind>;
    module.xBestIndex = BestJoinIndex;
    module.xDisconnect = DisconnectJoin;
    module.xDestroy = DisconnectJoin;
    module.xOpen = OpenJoin;
    module.xClose = CloseJoin;
    module.xFilter = FilterJoin;
    module.xNext = NextJoin;
    module.xEof = IsJoinAtEnd;
    module.xColumn = GiveJoinCell;
    module.xRowid = GiveJoinRowId;
    return module;
  }();
  return sqlite3_create_module(database, name, &kModule, nullptr);
}

}  // namespace

bool IsSpanJoin(std::string_view module) {
  const SqlToken token{module};
  return token.Is("span_join") || token.Is("span_left_join") ||
         token.Is("span_outer_join");
}

int AddSpanJoins(sqlite3* database) {
  return std::max({AddJoin<JoinKind::kInner>("span_join", database),
                   AddJoin<JoinKind::kLeft>("span_left_join", database),
                   AddJoin<JoinKind::kOuter>("span_outer_join", database)});
}

}  // namespace pztrace
