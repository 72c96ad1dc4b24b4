// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/sql_functions.h"

#include <regex.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/fnv1a.h"
#include "src/pztrace/tables/args_to_json.h"

namespace pztrace {

namespace {

constexpr size_t kMaxGroups = 10;
using Groups = std::array<regmatch_t, kMaxGroups>;

std::string_view TextOf(sqlite3_value* value) {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr)
    return {};
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

const char* CStringOf(sqlite3_value* value) {
  return reinterpret_cast<const char*>(sqlite3_value_text(value));
}

void ReturnText(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.empty() ? "" : text.data(), text.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);
}

bool AnyIsNull(int count, sqlite3_value** values) {
  return std::any_of(values, values + count, [](sqlite3_value* value) {
    return sqlite3_value_type(value) == SQLITE_NULL;
  });
}

void DeletePattern(void* pattern) {
  regfree(static_cast<regex_t*>(pattern));
  delete static_cast<regex_t*>(pattern);
}

// Returns the pattern in an argument, an extended one of POSIX, which SQLite
// keeps for further rows. Null, and the function has failed, if it is wrong.
const regex_t* PatternOf(sqlite3_context* context,
                         sqlite3_value** values,
                         int index) {
  if (void* const kept = sqlite3_get_auxdata(context, index))
    return static_cast<regex_t*>(kept);
  auto* const pattern = new regex_t;
  const int error = regcomp(pattern, CStringOf(values[index]), REG_EXTENDED);
  if (error != 0) {
    char why[128];
    regerror(error, pattern, why, sizeof(why));
    delete pattern;
    const std::string text = "regular expression: " + std::string(why);
    sqlite3_result_error(context, text.c_str(), -1);
    return nullptr;
  }
  sqlite3_set_auxdata(context, index, pattern, DeletePattern);
  // SQLite may have deleted it already.
  return static_cast<regex_t*>(sqlite3_get_auxdata(context, index));
}

// Implements "text REGEXP pattern".
void Regexp(sqlite3_context* context, int count, sqlite3_value** values) {
  if (AnyIsNull(count, values))
    return;
  if (const regex_t* const pattern = PatternOf(context, values, 0)) {
    sqlite3_result_int(
        context, regexec(pattern, CStringOf(values[1]), 0, nullptr, 0) == 0);
  }
}

// Returns the group 1 of the pattern if that matches something, otherwise all
// that the pattern matches. Null if it does not match.
void RegexpExtract(sqlite3_context* context,
                   int count,
                   sqlite3_value** values) {
  if (AnyIsNull(count, values))
    return;
  const regex_t* const pattern = PatternOf(context, values, 1);
  if (pattern == nullptr)
    return;
  Groups groups;
  const char* const text = CStringOf(values[0]);
  if (regexec(pattern, text, groups.size(), groups.data(), 0) != 0)
    return;
  const bool has_group = pattern->re_nsub != 0 && groups[1].rm_so >= 0;
  const regmatch_t& group = groups[has_group ? 1 : 0];
  ReturnText(context, {text + group.rm_so,
                       static_cast<size_t>(group.rm_eo - group.rm_so)});
}

// Implements regexp_replace_simple(text, pattern, replacement).
void RegexpReplace(sqlite3_context* context,
                   int count,
                   sqlite3_value** values) {
  if (AnyIsNull(count, values))
    return;
  const regex_t* const pattern = PatternOf(context, values, 1);
  if (pattern == nullptr)
    return;
  std::string replaced;
  const char* text = CStringOf(values[0]);
  regmatch_t match;
  for (int flags = 0; regexec(pattern, text, 1, &match, flags) == 0;
       flags = REG_NOTBOL) {
    replaced.append(text, static_cast<size_t>(match.rm_so));
    replaced += TextOf(values[2]);
    text += match.rm_eo;
    if (match.rm_eo != match.rm_so)
      continue;
    // Nothing was matched: goes on after the next byte.
    if (*text == '\0')
      break;
    replaced += *text++;
  }
  ReturnText(context, replaced + text);
}

// Implements str_split(text, separator, index). Null if there is no such part.
void StrSplit(sqlite3_context* context, int count, sqlite3_value** values) {
  if (AnyIsNull(count, values))
    return;
  std::string_view text = TextOf(values[0]);
  const std::string_view separator = TextOf(values[1]);
  if (separator.empty() || sqlite3_value_int64(values[2]) < 0) {
    return sqlite3_result_error(
        context, "str_split() needs a separator and an index from 0", -1);
  }
  for (int64_t index = sqlite3_value_int64(values[2]);; --index) {
    const size_t end = text.find(separator);
    if (index == 0)
      return ReturnText(context, text.substr(0, end));
    if (end == std::string_view::npos)
      return;
    text.remove_prefix(end + separator.size());
  }
}

// Implements hash(value, ...): a number for these values, FNV-1a.
void Hash(sqlite3_context* context, int count, sqlite3_value** values) {
  uint64_t hash = program::Fnv1a({});
  for (int i = 0; i < count; ++i) {
    const char type = static_cast<char>('0' + sqlite3_value_type(values[i]));
    hash = program::Fnv1a(TextOf(values[i]), program::Fnv1a({&type, 1}, hash));
  }
  sqlite3_result_int64(context, static_cast<int64_t>(hash));
}

void Reverse(sqlite3_context* context, int count, sqlite3_value** values) {
  if (AnyIsNull(count, values))
    return;
  const std::string_view text = TextOf(values[0]);
  std::string reversed;
  for (size_t end = text.size(); end != 0;) {
    size_t begin = end - 1;
    while (begin != 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80)
      --begin;
    reversed += text.substr(begin, end - begin);
    end = begin;
  }
  ReturnText(context, reversed);
}

// The values of percentile(value, percent).
struct Percentile {
  std::vector<double> values;
  double percent = 0;
};

Percentile** PercentileOf(sqlite3_context* context, int size) {
  return static_cast<Percentile**>(sqlite3_aggregate_context(context, size));
}

void AddToPercentile(sqlite3_context* context,
                     int count,
                     sqlite3_value** values) {
  Percentile** const sum = PercentileOf(context, sizeof(Percentile*));
  if (sum == nullptr || AnyIsNull(count, values))
    return;
  if (*sum == nullptr)
    *sum = new Percentile;
  (*sum)->values.push_back(sqlite3_value_double(values[0]));
  (*sum)->percent = sqlite3_value_double(values[1]);
}

// Gives a value between the two nearest ones, as most programs do.
void FinishPercentile(sqlite3_context* context) {
  Percentile** const sum = PercentileOf(context, 0);
  if (sum == nullptr || *sum == nullptr)
    return;
  std::vector<double> sorted = std::move((*sum)->values);
  const double percent = (*sum)->percent;
  delete *sum;
  if (!(percent >= 0 && percent <= 100)) {
    return sqlite3_result_error(
        context, "percentile() needs a number from 0 to 100", -1);
  }
  std::sort(sorted.begin(), sorted.end());
  const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - std::floor(place);
  sqlite3_result_double(context,
                        sorted[below] + part * (sorted[above] - sorted[below]));
}

// The last value that is not null in the rows of a window. Rows leave a window
// in the order in which they come, so that no earlier value is needed.
struct LastValue {
  ~LastValue() { sqlite3_value_free(value); }

  sqlite3_value* value = nullptr;
  int64_t row = -1;
  int64_t num_added = 0;
  int64_t num_removed = 0;
};

LastValue* LastValueOf(sqlite3_context* context) {
  auto** const last = static_cast<LastValue**>(
      sqlite3_aggregate_context(context, sizeof(LastValue*)));
  if (last != nullptr && *last == nullptr)
    *last = new LastValue;
  return last != nullptr ? *last : nullptr;
}

void AddLastValue(sqlite3_context* context, int, sqlite3_value** values) {
  LastValue* const last = LastValueOf(context);
  if (last == nullptr)
    return;
  if (sqlite3_value_type(values[0]) != SQLITE_NULL) {
    sqlite3_value_free(last->value);
    last->value = sqlite3_value_dup(values[0]);
    last->row = last->num_added;
  }
  ++last->num_added;
}

void RemoveLastValue(sqlite3_context* context, int, sqlite3_value**) {
  if (LastValue* const last = LastValueOf(context))
    ++last->num_removed;
}

void GiveLastValue(sqlite3_context* context) {
  const LastValue* const last = LastValueOf(context);
  if (last != nullptr && last->row >= last->num_removed)
    sqlite3_result_value(context, last->value);
}

void FinishLastValue(sqlite3_context* context) {
  GiveLastValue(context);
  delete LastValueOf(context);
}

}  // namespace

int AddSqlFunctions(sqlite3* database) {
  using Function = void (*)(sqlite3_context*, int, sqlite3_value**);
  constexpr struct {
    const char* name;
    int num_arguments;
    Function function;
  } kFunctions[] = {
      {"regexp", 2, Regexp},
      {"regexp_extract", 2, RegexpExtract},
      {"regexp_replace_simple", 3, RegexpReplace},
      {"str_split", 3, StrSplit},
      {"hash", -1, Hash},
      {"reverse", 1, Reverse},
  };
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  int result = AddArgsToJson(database);
  for (const auto& [name, num_arguments, function] : kFunctions) {
    result =
        std::max(result, sqlite3_create_function_v2(
                             database, name, num_arguments, kFlags, nullptr,
                             function, nullptr, nullptr, nullptr));
  }
  result =
      std::max(result, sqlite3_create_function_v2(
                           database, "percentile", 2, kFlags, nullptr, nullptr,
                           AddToPercentile, FinishPercentile, nullptr));
  return std::max(
      result, sqlite3_create_window_function(
                  database, "last_non_null", 1, kFlags, nullptr, AddLastValue,
                  FinishLastValue, GiveLastValue, RemoveLastValue, nullptr));
}

}  // namespace pztrace
