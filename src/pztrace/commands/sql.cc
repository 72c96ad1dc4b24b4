// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace sql.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/commands/found_rows_output.h"
#include "src/pztrace/commands/line_reader.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/database.h"
#include "src/pztrace/tables/sql_script.h"
#include "src/pztrace/tables/trace_database.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/trace_input.h"
#include "src/table/table_format.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;

// Returns whether |path| is a file that begins as SQLite's do. Reads nothing of
// a pipe, which would be missing in the trace.
bool IsDatabase(const std::string& path) {
  constexpr std::string_view kBeginning("SQLite format 3\0", 16);
  struct stat status;
  if (path == "-" || stat(path.c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return false;
  }
  const program::ScopedFile file(fopen(path.c_str(), "rb"));
  char bytes[kBeginning.size()];
  return file && fread(bytes, 1, sizeof(bytes), file.get()) == sizeof(bytes) &&
         std::string_view(bytes, sizeof(bytes)) == kBeginning;
}

// Returns the database in |file|, or one in memory for the trace in it, which
// |input| has then. Null, and has printed why, if there is none.
std::unique_ptr<Database> DatabaseOf(const std::string& file,
                                     std::optional<TraceInput>* input) {
  std::string why;
  if (IsDatabase(file)) {
    auto database = Database::Open(file, &why);
    if (!database) {
      program::PrintError(kProgram, "%s: %s", program::DisplayName(file),
                          why.c_str());
    }
    return database;
  }
  auto database = Database::CreateInMemory(&why);
  if (!database || !MakeTraceTables(database.get())) {
    program::PrintError(kProgram, "%s",
                        (database ? database->error() : why).c_str());
    return nullptr;
  }
  return input->emplace().Open(file, "sql") ? std::move(database) : nullptr;
}

// Returns |text| if it is a query, and no option: one that begins with a
// comment begins like an option.
bool BeginsWithComment(const std::string& text) {
  return text.size() > 2 && text.compare(0, 2, "--") == 0 &&
         (text[2] == ' ' || text.find('\n') != std::string::npos);
}

// Answers queries from the terminal until its end.
int AnswerTerminal(std::optional<table::TableFormat> format,
                   Database* database) {
  LineReader lines;
  std::string text;
  while (const auto line = lines.Read(text.empty() ? "sql> " : "...> ")) {
    const std::vector<SqlToken> words = SqlTokensOf(*line);
    if (text.empty() && !words.empty() &&
        (words[0].Is("exit") || words[0].Is("quit"))) {
      break;
    }
    // An empty line forgets what was written.
    text = words.empty() ? "" : text + *line + '\n';
    if (SqlScript::IsOpen(text))
      continue;
    lines.Remember(text.substr(0, text.size() - 1));
    if (const auto rows = database->Find(std::exchange(text, "")))
      PrintFoundRows(format, rows.get());
    fflush(stdout);
    if (!database->error().empty())
      program::PrintError(kProgram, "%s", database->error().c_str());
    database->ClearError();
  }
  return program::FlushStandardOutput(kProgram) ? kSuccess : kFailure;
}

// Reads the query in a file. Returns false, and has printed why, if it cannot.
bool ReadQuery(const std::string& path, std::string* query) {
  std::vector<uint8_t> content;
  if (!program::ReadFile(kProgram, path, &content))
    return false;
  *query = program::WithoutByteOrderMark(
      {reinterpret_cast<const char*>(content.data()), content.size()});
  return true;
}

// Asks |arguments|: a trace, and perhaps a query.
int AnswerSql(const program::Command& command,
              const std::vector<std::string>& arguments,
              std::string query_file,
              std::optional<table::TableFormat> format) {
  const std::string& file = arguments[0];
  std::string query = arguments.size() > 1 ? arguments[1] : "";
  if (arguments.size() > 2)
    return WrongUsage(command,
                      "'" + arguments[2] + "' is one argument too many");
  if (!query.empty() && !query_file.empty())
    return WrongUsage(command, "QUERY and --file are two queries");
  const bool asks_terminal = query.empty() && query_file.empty() &&
                             isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (query == "-" || (query.empty() && query_file.empty() && !asks_terminal))
    query_file = "-";
  if (file == "-" && (query_file == "-" || asks_terminal))
    return WrongUsage(command, "QUERY is missing: FILE is the standard input");
  const std::string problem = OutputProblem({file}, "-");
  if (!problem.empty())
    return WrongUsage(command, problem);
  if (!query_file.empty() && !ReadQuery(query_file, &query))
    return kFailure;
  std::optional<TraceInput> input;
  const auto database = DatabaseOf(file, &input);
  if (!database)
    return kFailure;
  bool is_whole = true;
  if (input) {
    database->set_fill(
        [&] { is_whole = FillTraceTables(file, &*input, database.get()); });
  }
  if (asks_terminal) {
    database->FillAll();
    return AnswerTerminal(format, database.get());
  }
  if (const auto rows = database->Find(query))
    PrintFoundRows(format, rows.get());
  const bool is_printed = program::FlushStandardOutput(kProgram);
  if (!database->error().empty())
    program::PrintError(kProgram, "%s", database->error().c_str());
  return is_whole && is_printed && database->error().empty() ? kSuccess
                                                             : kFailure;
}

}  // namespace

int SqlMain(int argc, char** argv) {
  std::vector<std::string> arguments;
  std::string query_file;
  std::string format_name;
  const program::Command command = {
      "pztrace sql",
      "[options] FILE [QUERY]",
      R"(Prints what a query in SQL finds in a trace:

  pztrace sql FILE 'select name, count(*), sum(dur) from slice group by name'

Without a QUERY, it asks for queries; each ends with a semicolon.
)",
      {{"FILE",
        "a trace, or what pztrace export --format sqlite has made of one; - is "
        "the standard input",
        &arguments},
       {"-f, --file QUERIES",
        "read the query from a file; - is the standard input", &query_file},
       {table::kFormatOption, table::kFormatHelp, &format_name}},
      R"(A QUERY may be several statements, of which the last one prints what it finds;
- is the standard input. They only read, and make views and tables of their own.

The tables have the names of Perfetto's trace processor: slice, thread_track,
args and so on. "select sql from sqlite_schema" prints them all.
)"};
  std::vector<std::string> copies(argv, argv + argc);
  std::vector<char*> words;
  for (std::string& word : copies) {
    if (BeginsWithComment(word))
      word.insert(0, "\n");
    words.push_back(word.data());
  }
  words.push_back(nullptr);
  if (const auto exit_code = program::Parse(command, argc, words.data()))
    return *exit_code;
  std::optional<table::TableFormat> format;
  if (!format_name.empty()) {
    std::string why;
    format = table::FormatOf(format_name, &why);
    if (!format)
      return WrongUsage(command, why);
  }
  return AnswerSql(command, arguments, std::move(query_file), format);
}

}  // namespace pztrace
