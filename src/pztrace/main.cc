// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "src/program/command_line.h"
#include "src/pztrace/commands.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

constexpr struct {
  const char* name;
  const char* arguments;
  const char* purpose;
  int (*main)(int argc, char** argv);
} kCommands[] = {
    {"record", "-o FILE [options] [-- COMMAND [ARGUMENT...]]",
     "records programs that trace", RecordMain},
    {"list", "[options]", "prints the running programs that can be traced",
     ListMain},
    {"stat", "[options]", "prints how a running recording is doing", StatMain},
    {"snapshot", "[options]", "writes what a running recorder keeps",
     SnapshotMain},
    {"trigger", "NAME", "has recordings that wait for it write a file",
     TriggerMain},
    {"recover", "[-o FILE] RECORDING",
     "makes a trace of a flight recorder's file", RecoverMain},
    {"cat", "[options] FILE", "prints the packets of a trace", CatMain},
    {"symbolize", "[options] -o OUTPUT FILE",
     "adds the names of functions to a trace's stacks", SymbolizeMain},
    {"cut", "[options] -o FILE TRACE", "cuts a piece out of a trace", CutMain},
    {"merge", "-o OUTPUT FILE...", "makes one trace of several", MergeMain},
    {"top", "[options] FILE...", "prints which slices took the most time",
     TopMain},
    {"diff", "[options] BEFORE AFTER...",
     "prints what differs between two versions", DiffMain},
    {"tasks", "[options] FILE...",
     "prints where tasks waited, and what ran instead", TasksMain},
    {"why", "[options] FILE [SLICE]", "prints why slices were slow", WhyMain},
    {"svg", "[options] FILE", "draws a trace as an image", SvgMain},
    {"html", "[options] FILE", "makes a page of a trace, to zoom and to search",
     HtmlMain},
    {"export", "[options] FILE...", "prints events as a table, for databases",
     ExportMain},
    {"sql", "[options] FILE QUERY",
     "prints what a query in SQL finds in a trace", SqlMain},
    {"check", "[options] RULES FILE", "compares a trace with rules", CheckMain},
};

// Returns a line for each command, or two if its arguments are long.
std::string CommandLines() {
  constexpr size_t kColumn = 29;
  std::string lines;
  const auto add = [&](const std::string& usage, const char* purpose) {
    std::string line = "  pztrace " + usage;
    line += line.size() < kColumn ? std::string(kColumn - line.size(), ' ')
                                  : '\n' + std::string(kColumn, ' ');
    lines += line + purpose + '\n';
  };
  for (const auto& command : kCommands)
    add(std::string(command.name) + ' ' + command.arguments, command.purpose);
  add("help [COMMAND]", "prints this, or the options of one of them");
  return lines;
}

std::string CommandNames() {
  std::string names;
  for (const auto& command : kCommands) {
    if (&command != std::begin(kCommands))
      names += &command + 1 == std::end(kCommands) ? " or " : ", ";
    names += command.name;
  }
  return names;
}

// Makes sure that there are a standard input, output and error: otherwise the
// trace, or a socket, would take the place of one, and messages would go there.
// Opens missing ones for reading only, so that printing to them fails.
void OpenStandardStreams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDONLY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    close(fd);
}

void PrintOutOfMemory() {
  fputs("pztrace: out of memory\n", stderr);
}

int Main(int argc, char** argv) {
  OpenStandardStreams();
  // "help top" is "top --help".
  char help[] = "--help";
  char* help_words[] = {argv[0], argc > 2 ? argv[2] : help,
                        argc > 2 ? help : nullptr, nullptr};
  if (argc > 1 && argc <= 3 && strcmp(argv[1], "help") == 0) {
    argv = help_words;
    argc = argc > 2 ? 3 : 2;
  }
  for (const auto& command : kCommands) {
    if (argc > 1 && strcmp(argv[1], command.name) == 0)
      return command.main(argc - 1, argv + 1);
  }
  const std::string about =
      "Records what programs trace, in Perfetto's format: ui.perfetto.dev "
      "shows it.\n\n" +
      CommandLines();
  const program::Command command = {
      "pztrace",
      "COMMAND [options]",
      about,
      {},
      R"(The exit code is 0 if all is well, 1 after a failure, 2 for wrong usage.
)"};
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> names = {"help"};
    for (const auto& known : kCommands)
      names.emplace_back(known.name);
    const std::string word = argv[1];
    return WrongUsage(command, "unknown command '" + word + "'" +
                                   program::Suggestion(word, names));
  }
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  return WrongUsage(command, "a command is missing: " + CommandNames());
}

}  // namespace

}  // namespace pztrace

int main(int argc, char** argv) {
#if !defined(__cpp_exceptions)
  std::set_new_handler([] {
    pztrace::PrintOutOfMemory();
    _exit(program::kFailure);
  });
#endif
  int result = program::kFailure;
  if (!protozero::RunsInMemory([&] { result = pztrace::Main(argc, argv); }))
    pztrace::PrintOutOfMemory();
  return result;
}
