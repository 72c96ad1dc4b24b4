// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_COMMAND_LINE_COMMAND_LINE_H_
#define SRC_COMMAND_LINE_COMMAND_LINE_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The command line of a program, from one table: getopt_long() parses by it,
// and the help prints it. With exceptions and without, unlike CLI11.
//
//   std::string output;
//   bool quick = false;
//   const command_line::Command command = {
//       "copy", "[options] FILE", "Copies a file.\n",
//       {{"FILE", "what to copy", &input},
//        {"-o, --output FILE", "where to", &output},
//        {"--quick", "do not check the copy", &quick}}};
//   if (const auto exit_code = command_line::Parse(command, argc, argv))
//     return *exit_code;

namespace command_line {

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

// Where the value of an option goes. A flag is set, a vector gets one more; of
// the others, the last value counts.
using Target = std::variant<bool*,
                            uint32_t*,
                            uint64_t*,
                            std::string*,
                            std::vector<std::string>*>;

struct Option {
  // As the help prints it: "--quick", "-o, --output FILE" or, if it is not an
  // option but an argument that has to be given, "FILE". If the target of the
  // last argument is a vector, there may be several.
  std::string_view names;
  // Without line ends. An option without help is not shown.
  std::string_view help;
  Target target;
};

struct Command {
  // The program and, if this is one of several, the command: "pztrace record".
  std::string name;
  // The first line of the help, after the name.
  std::string_view usage;
  // The lines of the help before and after the options.
  std::string_view about;
  std::vector<Option> options;
  std::string_view notes = {};
  // Gets the words after "--". If null, these are arguments as any other.
  std::vector<std::string>* rest = nullptr;
};

// Stores what |argv| says in the targets of |command|. argv[0] is passed over.
// Returns an exit code if there is nothing left to do: it has printed the help,
// the version or an error. REQUIRES: no other thread does the same.
std::optional<int> Parse(const Command& command, int argc, char** argv);

// Prints |problem| and how to get help. Returns kWrongUsage.
int WrongUsage(const Command& command, const std::string& problem);

// "; did you mean 'decode'?" if |word| is nearly one of |names|, otherwise an
// empty string.
std::string Suggestion(std::string_view word,
                       const std::vector<std::string>& names);

}  // namespace command_line

#endif  // SRC_COMMAND_LINE_COMMAND_LINE_H_
