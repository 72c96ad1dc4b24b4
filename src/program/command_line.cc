// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/command_line.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "protozero/config.h"
#include "src/program/io.h"

namespace program {

namespace {

constexpr size_t kLineWidth = 80;
// The value that getopt_long() returns for an argument that is no option.
constexpr int kArgument = 1;
// The value that it returns for the first long option. Other long options get
// larger numbers; short ones are bytes.
constexpr int kFirstLongOption = 256;

std::string ProgramOf(const Command& command) {
  return command.name.substr(0, command.name.find(' '));
}

bool TakesValue(const Option& option) {
  return !std::holds_alternative<bool*>(option.target);
}

bool TakesSeveral(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.target);
}

// Returns the parts of |names| that begin with a dash.
std::vector<std::string> SplitNames(std::string_view names) {
  std::vector<std::string> result;
  while (!names.empty() && names.front() == '-') {
    const size_t size = std::min(names.find_first_of(", "), names.size());
    result.emplace_back(names.substr(0, size));
    names.remove_prefix(std::min(size + 2, names.size()));
  }
  return result;
}

void PrintHelp(const Command& command, const std::vector<Option>& options) {
  printf("Usage: %s %.*s\n\n%.*s\n", command.name.c_str(),
         static_cast<int>(command.usage.size()), command.usage.data(),
         static_cast<int>(command.about.size()), command.about.data());
  size_t width = 0;
  for (const Option& option : options)
    width = std::max(width, option.names.size());
  const size_t indent = width + 4;
  for (const Option& option : options) {
    std::string line = "  " + std::string(option.names);
    std::string_view words = option.help;
    while (!words.empty()) {
      line.resize(indent, ' ');
      size_t size = words.size();
      if (indent + size > kLineWidth)
        size = words.rfind(' ', kLineWidth - indent);
      printf("%s%.*s\n", line.c_str(), static_cast<int>(size), words.data());
      words.remove_prefix(std::min(size + 1, words.size()));
      line.clear();
    }
  }
  if (!command.notes.empty()) {
    printf("\n%.*s", static_cast<int>(command.notes.size()),
           command.notes.data());
  }
}

template <typename Number>
std::string StoreNumber(const char* value, Number* number) {
  const char* const end = value + strlen(value);
  const std::from_chars_result result = std::from_chars(value, end, *number);
  if (result.ec != std::errc() || result.ptr != end)
    return "takes a number, not '" + std::string(value) + "'";
  return "";
}

// Returns the problem with |value|, or an empty string.
std::string Store(const Target& target, const char* value) {
  if (bool* const* flag = std::get_if<bool*>(&target)) {
    **flag = true;
    return "";
  }
  if (*value == '\0')
    return "needs a value";
  if (uint32_t* const* small_number = std::get_if<uint32_t*>(&target))
    return StoreNumber(value, *small_number);
  if (uint64_t* const* number = std::get_if<uint64_t*>(&target))
    return StoreNumber(value, *number);
  if (std::string* const* text = std::get_if<std::string*>(&target))
    **text = value;
  else
    std::get<std::vector<std::string>*>(target)->push_back(value);
  return "";
}

// Returns how many letters have to be added, removed, changed or swapped with
// the next one, to make |b| of |a|.
size_t DistanceOf(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last;
  for (size_t i = 0; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      if (i == 0) {
        row[j] = j;
        continue;
      }
      row[j] = std::min(
          {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

// The options in the form that getopt_long() wants.
class OptionTable {
 public:
  // REQUIRES: |options| outlives it.
  explicit OptionTable(const std::vector<Option>& options) {
    for (const Option& option : options) {
      const std::vector<std::string> spellings = SplitNames(option.names);
      if (spellings.empty())
        operands_.push_back(&option);
      for (const std::string& spelling : spellings)
        Add(spelling, option);
    }
    long_options_.push_back({});
  }

  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  // Returns the options without a dash, in their order.
  const std::vector<const Option*>& operands() const { return operands_; }

  // Calls getopt_long(), and returns its result.
  int Next(int argc, char** argv) const {
    return getopt_long(argc, argv, short_options_.c_str(), long_options_.data(),
                       nullptr);
  }

  // Stores the value of the option that Next() has found. |code| is its result.
  // Returns the problem with the option, or an empty string.
  std::string StoreOption(int code, char** argv) const {
    const auto found = names_.find(code == ':' || code == '?' ? optopt : code);
    if (found == names_.end()) {
      return UnknownOption(optopt == 0
                               ? std::string(argv[optind - 1])
                               : std::string{'-', static_cast<char>(optopt)});
    }
    const std::string& spelling = found->second.spelling;
    if (code == '?')
      return spelling + " takes no value";
    const std::string problem =
        Store(found->second.option->target, code == ':' ? "" : optarg);
    return problem.empty() ? "" : spelling + " " + problem;
  }

 private:
  // One name of an option.
  struct Name {
    std::string spelling;
    const Option* option;
  };

  void Add(const std::string& spelling, const Option& option) {
    const bool is_long = spelling[1] == '-';
    const int code = is_long
                         ? kFirstLongOption + static_cast<int>(names_.size())
                         : spelling[1];
    const Name& name = names_[code] = {spelling, &option};
    if (is_long) {
      long_options_.push_back(
          {name.spelling.c_str() + 2,
           TakesValue(option) ? required_argument : no_argument, nullptr,
           code});
    } else {
      short_options_ += spelling[1];
      short_options_ += TakesValue(option) ? ":" : "";
    }
  }

  std::string UnknownOption(const std::string& unknown) const {
    std::vector<std::string> spellings;
    for (const auto& [unused, name] : names_)
      spellings.push_back(name.spelling);
    return "unknown option '" + unknown + "'" +
           Suggestion(unknown.substr(0, unknown.find('=')), spellings);
  }

  // "-" makes getopt_long() return arguments in their order. ":" keeps it from
  // printing errors.
  std::string short_options_ = "-:";
  std::vector<option> long_options_;
  std::map<int, Name> names_;  // By the result of getopt_long().
  std::vector<const Option*> operands_;
};

// Stores |arguments| in the targets of |operands|. Returns the problem with one
// of them, or an empty string.
std::string StoreArguments(const std::vector<const Option*>& operands,
                           const std::vector<const char*>& arguments,
                           bool has_rest) {
  const bool takes_more = !operands.empty() && TakesSeveral(*operands.back());
  const size_t num_operands = takes_more
                                  ? std::max(operands.size(), arguments.size())
                                  : operands.size();
  for (size_t i = 0; i < num_operands; ++i) {
    const Option& operand = *operands[std::min(i, operands.size() - 1)];
    const std::string name(operand.names);
    if (i >= arguments.size() || *arguments[i] == '\0')
      return name + " is missing";
    const std::string problem = Store(operand.target, arguments[i]);
    if (!problem.empty())
      return name + " " + problem;
  }
  if (arguments.size() <= num_operands)
    return "";
  return "'" + std::string(arguments[operands.size()]) +
         "' is one argument too many" +
         (has_rest ? "; a command stands after --" : "");
}

}  // namespace

std::string Suggestion(std::string_view word,
                       const std::vector<std::string>& names) {
  constexpr size_t kMaxWord = 64;
  if (word.size() > kMaxWord)
    return "";
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    // A name of one letter is nearly any other, so it is never suggested.
    const size_t distance = name.size() > 2 ? DistanceOf(word, name) : least;
    if (distance != 0 && distance < least) {
      best = &name;
      least = distance;
    }
  }
  return best ? "; did you mean '" + *best + "'?" : "";
}

std::optional<int> Parse(const Command& command, int argc, char** argv) {
  bool wants_help = false;
  bool wants_version = false;
  std::vector<Option> options = command.options;
  options.push_back({"-h, --help", "print this", &wants_help});
  options.push_back({"--version", "print the version", &wants_version});

  const OptionTable table(options);
  std::vector<const char*> arguments;
  optind = 0;  // Makes getopt_long() start over.
  int code;
  while ((code = table.Next(argc, argv)) != -1) {
    if (code == kArgument) {
      arguments.push_back(optarg);
      continue;
    }
    const std::string problem = table.StoreOption(code, argv);
    if (!problem.empty())
      return WrongUsage(command, problem);
    if (wants_help) {
      PrintHelp(command, options);
      return kSuccess;
    }
    if (wants_version) {
      printf("%s %d.%d.%d\n", ProgramOf(command).c_str(),
             PROTOZERO_VERSION / 10000, PROTOZERO_VERSION / 100 % 100,
             PROTOZERO_VERSION % 100);
      return kSuccess;
    }
  }
  if (command.rest != nullptr)
    command.rest->assign(argv + optind, argv + argc);
  else
    arguments.insert(arguments.end(), argv + optind, argv + argc);
  const std::string problem =
      StoreArguments(table.operands(), arguments, command.rest != nullptr);
  if (!problem.empty())
    return WrongUsage(command, problem);
  return std::nullopt;
}

int WrongUsage(const Command& command, const std::string& problem) {
  PrintError(ProgramOf(command).c_str(), "%s", problem.c_str());
  fprintf(stderr, "Try %s --help.\n", command.name.c_str());
  return kWrongUsage;
}

}  // namespace program
