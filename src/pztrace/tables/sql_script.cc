// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/sql_script.h"

#include <ctype.h>
#include <strings.h>

#include <algorithm>
#include <utility>

#include "src/pztrace/tables/sql_library.h"

namespace pztrace {

namespace {

// The limits of macros within each other, and of what they make, in bytes.
constexpr size_t kMaxMacroDepth = 32;
constexpr size_t kMaxExpandedSize = size_t{1} << 20;

bool IsWordCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the size of the comment or the spaces that |sql| begins with.
size_t SpaceOf(std::string_view sql) {
  if (isspace(static_cast<unsigned char>(sql[0])))
    return 1;
  if (sql.substr(0, 2) == "--")
    return std::min(sql.find('\n'), sql.size());
  if (sql.substr(0, 2) != "/*")
    return 0;
  const size_t end = sql.find("*/", 2);
  return end == std::string_view::npos ? sql.size() : end + 2;
}

// Returns the size of the token that |sql| begins with.
size_t TokenSizeOf(std::string_view sql) {
  const char first = sql[0];
  size_t size = 1;
  if (first == '\'' || first == '"' || first == '`' || first == '[') {
    // A quote that is written twice is like two texts, one after the other.
    const size_t end = sql.find(first == '[' ? ']' : first, 1);
    return end == std::string_view::npos ? sql.size() : end + 1;
  }
  if (!IsWordCharacter(first))
    return 1;
  while (size < sql.size() && IsWordCharacter(sql[size]))
    ++size;
  return size;
}

// Returns the part of |text| from the token |first| up to the token |end|.
std::string_view PartOf(std::string_view text,
                        const std::vector<SqlToken>& tokens,
                        size_t first,
                        size_t end) {
  if (first >= end || first >= tokens.size())
    return {};
  const std::string_view last = tokens[end - 1].text;
  const char* const begin = tokens[first].text.data();
  return text.substr(static_cast<size_t>(begin - text.data()),
                     static_cast<size_t>(last.data() + last.size() - begin));
}

// Returns the place of the parenthesis that closes the one at |open|, or the
// number of tokens if there is none.
size_t CloseOf(const std::vector<SqlToken>& tokens, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].text == "(")
      ++depth;
    else if (tokens[i].text == ")" && --depth == 0)
      return i;
  }
  return tokens.size();
}

// Returns the first and the end of each token list between the commas that are
// in no other parentheses than those at |open| and |close|.
std::vector<std::pair<size_t, size_t>>
ListIn(const std::vector<SqlToken>& tokens, size_t open, size_t close) {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t depth = 0;
  size_t first = open + 1;
  for (size_t i = first; i < close; ++i) {
    if (tokens[i].text == "(")
      ++depth;
    else if (tokens[i].text == ")")
      --depth;
    if (depth != 0 || tokens[i].text != ",")
      continue;
    parts.emplace_back(first, i);
    first = i + 1;
  }
  if (first < close)
    parts.emplace_back(first, close);
  return parts;
}

// Returns the names in a list of names and types: (id LONG, name STRING).
std::vector<std::string> NamesIn(const std::vector<SqlToken>& tokens,
                                 size_t open,
                                 size_t close) {
  std::vector<std::string> names;
  for (const auto& [first, end] : ListIn(tokens, open, close))
    names.emplace_back(tokens[first].text);
  return names;
}

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Returns the SQL of the macros that are always there. Empty if |name| is none.
std::string CastOf(std::string_view name, std::string_view value) {
  const std::string_view type = name == "cast_int"      ? "INTEGER"
                                : name == "cast_double" ? "REAL"
                                : name == "cast_string" ? "TEXT"
                                                        : "";
  if (type.empty())
    return {};
  return "CAST(" + std::string(value) + " AS " + std::string(type) + ")";
}

// Returns |text| with |inserted| in front of a token.
std::string WithText(const std::string& text,
                     const SqlToken& token,
                     std::string_view inserted) {
  std::string changed = text;
  changed.insert(static_cast<size_t>(token.text.data() - text.data()),
                 inserted);
  return changed;
}

// Returns the statement that removes what the query has made, if it has.
std::string DropOf(std::string_view kind, std::string_view name) {
  return "DROP " + std::string(kind) + " IF EXISTS temp." + std::string(name) +
         ";";
}

// Returns what a statement of Perfetto's needs that is not here; otherwise what
// is wrong with it.
std::string PerfettoErrorOf(const std::vector<SqlToken>& tokens) {
  for (const std::string_view word : {"PIPELINE", "DELEGATES"}) {
    if (std::any_of(tokens.begin(), tokens.end(),
                    [&](const SqlToken& token) { return token.Is(word); })) {
      return "PERFETTO ... " + std::string(word) + " is not supported";
    }
  }
  return "near \"PERFETTO\": syntax error";
}

// Returns the place after "IF NOT EXISTS", which need not be at |i|.
size_t AfterIfNotExists(const std::vector<SqlToken>& tokens, size_t i) {
  return i + 2 < tokens.size() && tokens[i].Is("IF") ? i + 3 : i;
}

// Makes what SQLite's CREATE makes the query's own, unless it says whose it is.
void ReadCreate(const std::string& text, SqlStatement* statement) {
  const std::vector<SqlToken> tokens = SqlTokensOf(text);
  statement->sql = text;
  const bool is_temporary = tokens[1].Is("TEMP") || tokens[1].Is("TEMPORARY");
  const SqlToken& kind = tokens[is_temporary && tokens.size() > 2 ? 2 : 1];
  statement->kind = kind.Is("VIEW") || kind.Is("VIRTUAL")
                        ? SqlStatement::Kind::kDefines
                        : SqlStatement::Kind::kReads;
  const bool is_virtual = kind.Is("VIRTUAL");
  const size_t name = AfterIfNotExists(tokens, is_virtual ? 3 : 2);
  const bool is_qualified =
      name + 1 >= tokens.size() || tokens[name + 1].text == ".";
  if (is_temporary || is_qualified)
    return;
  if (is_virtual)
    statement->sql = WithText(text, tokens[name], "temp.");
  else if (kind.Is("VIEW") || kind.Is("TABLE"))
    statement->sql = WithText(text, kind, "TEMP ");
}

}  // namespace

bool SqlToken::is_word() const {
  return IsWordCharacter(text[0]) && text[0] != '$' &&
         !isdigit(static_cast<unsigned char>(text[0]));
}

bool SqlToken::Is(std::string_view word) const {
  return text.size() == word.size() &&
         strncasecmp(text.data(), word.data(), word.size()) == 0;
}

std::vector<SqlToken> SqlTokensOf(std::string_view sql) {
  std::vector<SqlToken> tokens;
  while (!sql.empty()) {
    size_t size = SpaceOf(sql);
    if (size == 0) {
      size = TokenSizeOf(sql);
      tokens.push_back({sql.substr(0, size)});
    }
    sql.remove_prefix(size);
  }
  return tokens;
}

std::vector<std::string> SqlScript::Split(std::string_view text) {
  std::vector<std::string> statements;
  const std::vector<SqlToken> tokens = SqlTokensOf(text);
  const auto add = [&](size_t first, size_t end) {
    if (first < end)
      statements.emplace_back(PartOf(text, tokens, first, end));
  };
  size_t first = 0;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    depth += tokens[i].text == "(" ? 1 : tokens[i].text == ")" ? -1 : 0;
    if (depth > 0 || tokens[i].text != ";")
      continue;
    add(first, i);
    first = i + 1;
    depth = 0;
  }
  add(first, tokens.size());
  return statements;
}

bool SqlScript::IsOpen(std::string_view text) {
  const std::vector<SqlToken> tokens = SqlTokensOf(text);
  return tokens.empty() || tokens.back().text != ";";
}

std::string SqlScript::Macro::With(
    const std::vector<std::string_view>& arguments) const {
  std::string text;
  const char* copied = body.data();
  for (const SqlToken& token : SqlTokensOf(body)) {
    const auto parameter =
        std::find(parameters.begin(), parameters.end(), token.text.substr(1));
    const bool is_parameter =
        token.text[0] == '$' && parameter != parameters.end();
    // A semicolon would end the statement that the macro is used in.
    if (!is_parameter && token.text != ";")
      continue;
    const auto index = static_cast<size_t>(parameter - parameters.begin());
    text.append(copied, token.text.data());
    text += index < arguments.size() ? arguments[index] : "";
    copied = token.text.data() + token.text.size();
  }
  return text.append(copied, body.data() + body.size());
}

bool SqlScript::ExpandCall(std::string_view name,
                           const std::vector<std::string_view>& arguments,
                           size_t depth,
                           std::string* expanded,
                           std::string* error) const {
  const std::string lower = InLowerCase(name);
  const auto macro = macros_.find(lower);
  const std::string text = macro != macros_.end()
                               ? macro->second.With(arguments)
                           : arguments.size() == 1 ? CastOf(lower, arguments[0])
                                                   : std::string();
  if (text.empty())
    *error = "no such macro: " + std::string(name);
  else if (depth == kMaxMacroDepth || expanded->size() > kMaxExpandedSize)
    *error = "the macro makes too much: " + std::string(name);
  else
    return Expand(text, depth + 1, expanded, error);
  return false;
}

bool SqlScript::Expand(std::string_view text,
                       size_t depth,
                       std::string* expanded,
                       std::string* error) const {
  const std::vector<SqlToken> tokens = SqlTokensOf(text);
  const char* copied = text.data();
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (!tokens[i].is_word() || tokens[i + 1].text != "!" ||
        tokens[i + 2].text != "(") {
      continue;
    }
    const size_t close = CloseOf(tokens, i + 2);
    if (close == tokens.size()) {
      *error = "a ) is missing after " + std::string(tokens[i].text) + "!(";
      return false;
    }
    std::vector<std::string_view> arguments;
    for (const auto& [first, end] : ListIn(tokens, i + 2, close))
      arguments.push_back(PartOf(text, tokens, first, end));
    expanded->append(copied, tokens[i].text.data());
    if (!ExpandCall(tokens[i].text, arguments, depth, expanded, error))
      return false;
    copied = tokens[close].text.data() + 1;
    i = close;
  }
  expanded->append(copied, text.data() + text.size());
  return true;
}

bool SqlScript::Include(const std::vector<SqlToken>& tokens,
                        std::string* error) const {
  std::string name;
  for (size_t i = 3; i < tokens.size(); ++i)
    name += tokens[i].text;
  std::string_view prefix = name;
  const bool is_pattern = !name.empty() && name.back() == '*';
  if (is_pattern)
    prefix.remove_suffix(1);
  std::string all;
  for (const std::string_view module : SqlModules()) {
    if (is_pattern ? module.substr(0, prefix.size()) == prefix
                   : module == prefix) {
      return true;
    }
    all += (all.empty() ? "" : ", ") + std::string(module);
  }
  *error = "no such module: " + name + "; built in are " + all;
  return false;
}

bool SqlScript::ReadPerfetto(std::string_view text, SqlStatement* statement) {
  const std::vector<SqlToken> tokens = SqlTokensOf(text);
  const bool replaces = tokens[1].Is("OR");
  // CREATE [OR REPLACE] PERFETTO kind name [(list)] [RETURNS type] AS body
  const size_t kind = replaces ? 4 : 2;
  const size_t name = kind + 1;
  if (tokens.size() < kind + 4)
    return false;
  if (tokens[kind].Is("INDEX")) {
    statement->kind = SqlStatement::Kind::kReads;
    if (replaces)
      statement->sql = DropOf("INDEX", tokens[name].text);
    statement->sql += "CREATE INDEX " +
                      std::string(PartOf(text, tokens, name, tokens.size()));
    return true;
  }
  size_t i = name + 1;
  const bool has_list = tokens[i].text == "(";
  const size_t close = has_list ? CloseOf(tokens, i) : i;
  const std::vector<std::string> names =
      has_list ? NamesIn(tokens, i, close) : std::vector<std::string>();
  const bool returns_table = close + 2 < tokens.size() &&
                             tokens[close + 1].Is("RETURNS") &&
                             tokens[close + 2].Is("TABLE");
  for (i = close; i < tokens.size() && !tokens[i].Is("AS");)
    i = tokens[i].text == "(" ? CloseOf(tokens, i) + 1 : i + 1;
  if (i + 1 >= tokens.size())
    return false;
  const std::string body(PartOf(text, tokens, i + 1, tokens.size()));
  const std::string named(tokens[name].text);
  if (tokens[kind].Is("MACRO")) {
    macros_[InLowerCase(named)] = {names, body};
    return true;
  }
  if (tokens[kind].Is("FUNCTION")) {
    statement->kind = SqlStatement::Kind::kFunction;
    statement->function = {named, names, returns_table, body};
    return true;
  }
  const bool is_view = tokens[kind].Is("VIEW");
  if (!is_view && !tokens[kind].Is("TABLE"))
    return false;
  const std::string made = is_view ? "VIEW" : "TABLE";
  statement->kind =
      is_view ? SqlStatement::Kind::kDefines : SqlStatement::Kind::kReads;
  if (replaces)
    statement->sql = DropOf(made, named);
  statement->sql += "CREATE TEMP " + made + " " + named + " AS " + body;
  return true;
}

bool SqlScript::Read(const std::string& text,
                     SqlStatement* statement,
                     std::string* error) {
  *statement = {};
  const auto is = [](const std::vector<SqlToken>& tokens, size_t i,
                     std::string_view word) {
    return i < tokens.size() && tokens[i].Is(word);
  };
  const std::vector<SqlToken> written = SqlTokensOf(text);
  const size_t kind = is(written, 1, "OR") ? 4 : 2;
  // A macro's own text is replaced where it is used.
  std::string expanded;
  if (is(written, kind - 1, "PERFETTO") && is(written, kind, "MACRO"))
    expanded = text;
  else if (!Expand(text, 0, &expanded, error))
    return false;
  const std::vector<SqlToken> tokens = SqlTokensOf(expanded);
  if (is(tokens, 0, "INCLUDE") && is(tokens, 1, "PERFETTO") &&
      is(tokens, 2, "MODULE")) {
    return Include(tokens, error);
  }
  if (is(tokens, 0, "CREATE") && is(tokens, kind - 1, "PERFETTO")) {
    const bool is_right = ReadPerfetto(expanded, statement);
    if (!is_right)
      *error = PerfettoErrorOf(tokens);
    return is_right;
  }
  statement->kind = SqlStatement::Kind::kReads;
  statement->sql = expanded;
  if (is(tokens, 0, "DROP")) {
    statement->kind = SqlStatement::Kind::kDefines;
    if (is(tokens, 1, "PERFETTO") && tokens.size() > 3)
      statement->sql = "DROP INDEX " + std::string(tokens[3].text);
  } else if (is(tokens, 0, "CREATE") && tokens.size() > 1) {
    ReadCreate(expanded, statement);
  }
  return true;
}

}  // namespace pztrace
