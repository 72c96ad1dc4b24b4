// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/state_times.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/pztrace/tables/statement_functions.h"

namespace pztrace {

namespace {

// The columns of the table, of which the arguments are the last ones.
enum : int { kStateColumn, kDurColumn, kUtidColumn, kTsColumn, kWithinColumn };
constexpr int kNumArguments = 3;

// The times of a thread in one state, in their order.
class StateTime {
 public:
  // REQUIRES: it begins after those that were added end.
  void Add(int64_t ts, int64_t dur) {
    parts_.push_back({ts, dur, total_});
    total_ += dur;
  }
  int64_t Within(int64_t begin, int64_t end) const {
    return Until(end) - Until(begin);
  }

 private:
  struct Part {
    int64_t ts;
    int64_t dur;
    int64_t before;  // The sum of all parts before this one.
  };

  int64_t Until(int64_t ts) const {
    const auto after = std::upper_bound(
        parts_.begin(), parts_.end(), ts,
        [](int64_t time, const Part& part) { return time < part.ts; });
    if (after == parts_.begin())
      return 0;
    const Part& part = *std::prev(after);
    return part.before + std::min(ts - part.ts, part.dur);
  }

  std::vector<Part> parts_;
  int64_t total_ = 0;
};

// The states of a thread, in alphabetical order.
using ThreadStates = std::map<std::string, StateTime>;

struct StateTimesTable : sqlite3_vtab {
  StateTimesTable() : sqlite3_vtab() {}

  // Reads the states of all threads, unless that was done.
  int Load() {
    if (is_loaded)
      return SQLITE_OK;
    sqlite3_stmt* const rows = statement.get();
    sqlite3_reset(rows);
    int result;
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
      const auto* const state =
          reinterpret_cast<const char*>(sqlite3_column_text(rows, 3));
      threads[sqlite3_column_int64(rows, 0)][state != nullptr ? state : ""].Add(
          sqlite3_column_int64(rows, 1), sqlite3_column_int64(rows, 2));
    }
    sqlite3_reset(rows);
    is_loaded = result == SQLITE_DONE;
    return is_loaded ? SQLITE_OK : result;
  }

  ScopedStatement statement;
  std::unordered_map<int64_t, ThreadStates> threads;  // By utid.
  bool is_loaded = false;
};

struct StateTimesCursor : sqlite3_vtab_cursor {
  StateTimesCursor() : sqlite3_vtab_cursor() {}

  // The states of the call, and their times.
  std::vector<std::pair<const std::string*, int64_t>> rows;
  size_t row = 0;
  int64_t arguments[kNumArguments] = {};
};

StateTimesCursor& StateTimesCursorOf(sqlite3_vtab_cursor* cursor) {
  return *static_cast<StateTimesCursor*>(cursor);
}

int ConnectStateTimes(sqlite3* database,
                      void*,
                      int,
                      const char* const*,
                      sqlite3_vtab** table,
                      char** error) {
  auto made = std::make_unique<StateTimesTable>();
  sqlite3_stmt* statement = nullptr;
  // Tables are told what will be read before they are filled, so it cannot wait
  // until the first call.
  const int result = sqlite3_prepare_v2(
      database,
      "SELECT utid, ts, dur, state FROM main.thread_state WHERE dur > 0 "
      "ORDER BY utid, ts",
      -1, &statement, nullptr);
  made->statement.reset(statement);
  if (result != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(database));
    return result;
  }
  sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
  *table = made.release();
  return sqlite3_declare_vtab(
      database,
      "CREATE TABLE x(state TEXT, dur INTEGER, \"$utid\" HIDDEN, "
      "\"$ts\" HIDDEN, \"$dur\" HIDDEN)");
}

int DisconnectStateTimes(sqlite3_vtab* table) {
  delete static_cast<StateTimesTable*>(table);
  return SQLITE_OK;
}

// Asks for all arguments, in their order.
int BestStateTimesIndex(sqlite3_vtab*, sqlite3_index_info* index) {
  int found = 0;
  for (int i = 0; i < index->nConstraint; ++i) {
    const auto& wanted = index->aConstraint[i];
    if (wanted.iColumn < kUtidColumn ||
        wanted.op != SQLITE_INDEX_CONSTRAINT_EQ) {
      continue;
    }
    if (!wanted.usable)
      return SQLITE_CONSTRAINT;
    auto& usage = index->aConstraintUsage[i];
    usage.argvIndex = wanted.iColumn - kUtidColumn + 1;
    usage.omit = 1;
    ++found;
  }
  index->estimatedCost = 10;
  index->estimatedRows = 4;
  return found == kNumArguments ? SQLITE_OK : SQLITE_ERROR;
}

int OpenStateTimes(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new StateTimesCursor;
  return SQLITE_OK;
}

int CloseStateTimes(sqlite3_vtab_cursor* cursor) {
  delete static_cast<StateTimesCursor*>(cursor);
  return SQLITE_OK;
}

int FilterStateTimes(sqlite3_vtab_cursor* vtab_cursor,
                     int,
                     const char*,
                     int,
                     sqlite3_value** values) {
  StateTimesCursor& cursor = StateTimesCursorOf(vtab_cursor);
  auto& table = *static_cast<StateTimesTable*>(vtab_cursor->pVtab);
  const int result = table.Load();
  if (result != SQLITE_OK)
    return result;
  for (int i = 0; i < kNumArguments; ++i)
    cursor.arguments[i] = sqlite3_value_int64(values[i]);
  const auto& [utid, ts, dur] = cursor.arguments;
  cursor.rows.clear();
  cursor.row = 0;
  const auto thread = table.threads.find(utid);
  int64_t end;
  if (thread == table.threads.end() || __builtin_add_overflow(ts, dur, &end) ||
      end < ts) {
    return SQLITE_OK;
  }
  for (const auto& [state, times] : thread->second) {
    if (const int64_t within = times.Within(ts, end))
      cursor.rows.emplace_back(&state, within);
  }
  return SQLITE_OK;
}

int NextStateTime(sqlite3_vtab_cursor* cursor) {
  ++StateTimesCursorOf(cursor).row;
  return SQLITE_OK;
}

int IsStateTimesAtEnd(sqlite3_vtab_cursor* vtab_cursor) {
  const StateTimesCursor& cursor = StateTimesCursorOf(vtab_cursor);
  return cursor.row >= cursor.rows.size();
}

int GiveStateTimesCell(sqlite3_vtab_cursor* vtab_cursor,
                       sqlite3_context* context,
                       int column) {
  const StateTimesCursor& cursor = StateTimesCursorOf(vtab_cursor);
  if (column >= kUtidColumn) {
    sqlite3_result_int64(context, cursor.arguments[column - kUtidColumn]);
    return SQLITE_OK;
  }
  const auto& [state, dur] = cursor.rows[cursor.row];
  if (column == kDurColumn) {
    sqlite3_result_int64(context, dur);
  } else {
    sqlite3_result_text(context, state->data(), static_cast<int>(state->size()),
                        SQLITE_TRANSIENT);
  }
  return SQLITE_OK;
}

int GiveStateTimesRowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(StateTimesCursorOf(cursor).row);
  return SQLITE_OK;
}

}  // namespace

int AddStateTimes(sqlite3* database) {
  static const sqlite3_module kModule = [] {
    sqlite3_module module = {};
    module.xConnect = ConnectStateTimes;
    module.xBestIndex = BestStateTimesIndex;
    module.xDisconnect = DisconnectStateTimes;
    module.xOpen = OpenStateTimes;
    module.xClose = CloseStateTimes;
    module.xFilter = FilterStateTimes;
    module.xNext = NextStateTime;
    module.xEof = IsStateTimesAtEnd;
    module.xColumn = GiveStateTimesCell;
    module.xRowid = GiveStateTimesRowId;
    return module;
  }();
  return sqlite3_create_module(database, "__state_times", &kModule, nullptr);
}

}  // namespace pztrace
