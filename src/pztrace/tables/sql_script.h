// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SQL_SCRIPT_H_
#define SRC_PZTRACE_TABLES_SQL_SCRIPT_H_

#include <stddef.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pztrace {

// A word, a number, a text in quotes, or a sign of SQL, as it is written.
struct SqlToken {
  bool is_word() const;
  // Returns whether it is that word, in upper or lower case.
  bool Is(std::string_view word) const;

  std::string_view text;
};

// Returns the tokens of |sql|, without spaces and comments.
std::vector<SqlToken> SqlTokensOf(std::string_view sql);

// A function whose value, or table, is what a query finds.
struct SqlFunction {
  std::string name;
  std::vector<std::string> parameters;  // The query calls them $name.
  bool is_table = false;
  std::string query;
};

// A statement, as SQLite takes it.
struct SqlStatement {
  enum class Kind {
    kNothing,   // It is done by reading it, as INCLUDE is.
    kFunction,  // It makes |function|.
    kDefines,   // It needs no rows, as CREATE VIEW does.
    kReads,     // It finds rows, or keeps them in a table of the query's own.
  };

  Kind kind = Kind::kNothing;
  std::string sql;
  SqlFunction function;
};

// Reads statements of SQLite, and of Perfetto's trace processor. What they make
// is the query's own, and temporary: CREATE PERFETTO TABLE t AS SELECT 1
// becomes CREATE TEMP TABLE t AS SELECT 1, and macros are replaced.
class SqlScript {
 public:
  // Returns the statements in |text|, of which none is empty.
  static std::vector<std::string> Split(std::string_view text);
  // Returns whether |text| ends within a statement, or has none.
  static bool IsOpen(std::string_view text);

  // Translates a statement. Returns false, and sets |error|, if it is wrong.
  bool Read(const std::string& text,
            SqlStatement* statement,
            std::string* error);

 private:
  struct Macro {
    // Returns the body with these arguments.
    std::string With(const std::vector<std::string_view>& arguments) const;

    std::vector<std::string> parameters;
    std::string body;
  };

  // Append a call of a macro, or |text|, with what macros stand for.
  bool ExpandCall(std::string_view name,
                  const std::vector<std::string_view>& arguments,
                  size_t depth,
                  std::string* expanded,
                  std::string* error) const;
  bool Expand(std::string_view text,
              size_t depth,
              std::string* expanded,
              std::string* error) const;
  bool Include(const std::vector<SqlToken>& tokens, std::string* error) const;
  bool ReadPerfetto(std::string_view text, SqlStatement* statement);

  std::map<std::string, Macro> macros_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SQL_SCRIPT_H_
