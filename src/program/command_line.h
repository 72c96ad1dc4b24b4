// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_COMMAND_LINE_H_
#define SRC_PROGRAM_COMMAND_LINE_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The command line of a program, from one table: getopt_long() parses by it,
// and the help prints it. It works with and without exceptions, unlike CLI11.
//
//   std::string output;
//   bool quick = false;
//   const program::Command command = {
//       "copy", "[options] FILE", "Copies a file.\n",
//       {{"FILE", "what to copy", &input},
//        {"-o, --output FILE", "where to", &output},
//        {"--quick", "do not check the copy", &quick}}};
//   if (const auto exit_code = program::Parse(command, argc, argv))
//     return *exit_code;

namespace program {

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

// The variable that gets the value of an option. A flag is set to true, a
// vector gets one more value, any other variable has the last value.
using Target = std::variant<bool*,
                            uint32_t*,
                            uint64_t*,
                            std::string*,
                            std::vector<std::string>*>;

struct Option {
  // The names, in the form that the help prints: "--quick", "-o, --output FILE"
  // or, for an argument that has to be given and is no option, "FILE". If the
  // target of the last argument is a vector, there may be several.
  std::string_view names;
  // The text of the help, without line ends.
  std::string_view help;
  Target target;
};

struct Command {
  // The name of the program and, if this is one of several, of the command:
  // "pztrace record".
  std::string name;
  // The first line of the help, after the name.
  std::string_view usage;
  // The lines of the help before the options. The lines after them are |notes|.
  std::string_view about;
  std::vector<Option> options;
  std::string_view notes = {};
  // The vector that gets the words after "--". If null, these are arguments
  // like any other.
  std::vector<std::string>* rest = nullptr;
};

// Parses |argv|, and stores the values in the targets of |command|. Passes over
// argv[0]. Returns an exit code if there is nothing left to do: it has printed
// the help, the version or an error. REQUIRES: no other thread parses a command
// line meanwhile.
std::optional<int> Parse(const Command& command, int argc, char** argv);

// Prints |problem| and how to get help. Returns kWrongUsage.
int WrongUsage(const Command& command, const std::string& problem);

// Returns "; did you mean 'decode'?" if |word| is nearly one of |names|,
// otherwise an empty string.
std::string Suggestion(std::string_view word,
                       const std::vector<std::string>& names);

}  // namespace program

#endif  // SRC_PROGRAM_COMMAND_LINE_H_
