// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The command line of pbz: which file, which schema, what to do, and what went
// wrong.

#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/field_stream.h"
#include "src/pbz/printer.h"
#include "src/pbz/program_io.h"
#include "src/pbz/report.h"
#include "src/pbz/schema.h"
#include "src/pbz/stats.h"

namespace pbz {

namespace {

constexpr char kProgram[] = "pbz";
constexpr char kVersionNumber[] = "0.1.0";

constexpr char kUsage[] =
    R"(Usage: pbz decode [options] FILE
       pbz stats [options] FILE

Shows what is in a file of protobuf, of any size, with or without a schema.

  decode  prints the fields: with a schema line by line as protoc --decode does,
          without one with guesses, which comments say (# message?)
  stats   tells where the bytes go: by field, how many, and how many of them
          are tags and sizes; "with inner" adds the fields of a message to it

FILE is one message, which may be - for the standard input. What is malformed is
reported, after what could be read.

  --schema SET   a descriptor set: what the command
                 protoc --include_imports --descriptor_set_out=SET X.proto
                 writes. Without one, names are numbers
  --type NAME    the type of the message, "pkg.Name" or the end of that
  --offsets      decode: begin each line with the field's offset and size
  --color WHEN   auto (the default: on a terminal, unless NO_COLOR is set),
                 always or never
  -h, --help     print this
  --version      print the version

Exit code: 0 if all is well, 1 if the file is malformed or there is no reading
it, 2 if called wrongly.
)";

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

struct Options {
  enum class Command { kNone, kHelp, kVersion, kDecode, kStats };

  Command command = Command::kNone;
  std::string file;
  std::string schema;
  std::string type;
  std::string color = "auto";
  bool offsets = false;
};

// Returns false, and has printed why, if the arguments make no sense.
bool ParseOptions(int argc, char** argv, Options* options) {
  using Command = Options::Command;
  struct ValueOption {
    std::string_view name;
    std::string* value;
  };
  const ValueOption value_options[] = {
      {"--schema", &options->schema},
      {"--type", &options->type},
      {"--color", &options->color},
  };
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (only_files || arg.size() < 2 || arg.front() != '-') {
      if (options->command == Command::kNone) {
        if (arg == "decode") {
          options->command = Command::kDecode;
        } else if (arg == "stats") {
          options->command = Command::kStats;
        } else {
          PrintError(kProgram, "unknown command '%s'", argv[i]);
          return false;
        }
      } else if (!options->file.empty() || arg.empty()) {
        PrintError(kProgram, "exactly one file is expected");
        return false;
      } else {
        options->file = arg;
      }
      continue;
    }
    if (arg == "--") {
      only_files = true;
      continue;
    }
    if (arg == "-h" || arg == "--help" || arg == "--version") {
      options->command =
          arg == "--version" ? Command::kVersion : Command::kHelp;
      return true;
    }
    if (arg == "--offsets") {
      options->offsets = true;
      continue;
    }
    const size_t equals = arg.find('=');
    const std::string_view name = arg.substr(0, equals);
    const ValueOption* found = nullptr;
    for (const ValueOption& option : value_options) {
      if (option.name == name)
        found = &option;
    }
    if (!found) {
      PrintError(kProgram, "unknown option '%s'", argv[i]);
      return false;
    }
    if (equals != std::string_view::npos) {
      *found->value = arg.substr(equals + 1);
    } else if (i + 1 == argc) {
      PrintError(kProgram, "%s needs a value", argv[i]);
      return false;
    } else {
      *found->value = argv[++i];
    }
  }

  if (options->command == Command::kNone) {
    PrintError(kProgram, "decode or stats?");
  } else if (options->file.empty()) {
    PrintError(kProgram, "which file?");
  } else if (options->schema.empty() != options->type.empty()) {
    PrintError(kProgram, "--schema and --type go together");
  } else if (!UseColor(options->color)) {
    PrintError(kProgram, "--color is auto, always or never");
  } else if (options->offsets && options->command != Command::kDecode) {
    PrintError(kProgram, "--offsets is for decode");
  } else {
    return true;
  }
  return false;
}

// Returns null, and has printed why, if there is no such schema.
std::unique_ptr<Schema> LoadSchema(const std::string& path) {
  std::vector<uint8_t> content;
  if (!ReadFile(kProgram, path, &content))
    return nullptr;
  std::string error;
  std::unique_ptr<Schema> schema = Schema::Parse(content, &error);
  if (!schema) {
    PrintError(kProgram, "%s: %s", path.c_str(), error.c_str());
    return nullptr;
  }
  const std::vector<std::string>& missing = schema->missing_types();
  if (!missing.empty()) {
    PrintError(kProgram,
               "%s lacks %zu types (%s%s), whose fields are guessed; protoc "
               "has --include_imports",
               path.c_str(), missing.size(), missing.front().c_str(),
               missing.size() == 1 ? "" : ", ...");
  }
  return schema;
}

// Returns null, and has printed why, if there is no such type.
const MessageType* FindType(const Schema& schema, const std::string& name) {
  const MessageType* type = schema.FindMessage(name);
  if (type)
    return type;
  const std::vector<std::string> candidates = schema.NamesEndingIn(name);
  if (candidates.empty()) {
    PrintError(kProgram, "the schema has no message '%s'", name.c_str());
  } else {
    PrintError(kProgram, "which '%s'? %s, or %s?", name.c_str(),
               candidates[0].c_str(), candidates[1].c_str());
  }
  return nullptr;
}

int Run(const Options& options) {
  std::unique_ptr<Schema> schema;
  const MessageType* type = nullptr;
  if (!options.schema.empty()) {
    schema = LoadSchema(options.schema);
    if (!schema)
      return kFailure;
    type = FindType(*schema, options.type);
    if (!type)
      return kWrongUsage;
  }
  const ScopedFile file = OpenFile(kProgram, options.file);
  if (!file)
    return kFailure;
  const bool is_decode = options.command == Options::Command::kDecode;
  const bool color = *UseColor(options.color);
  Printer::Options printer_options;
  printer_options.color = color;
  printer_options.offsets = options.offsets;
  Printer printer(stdout, printer_options);
  Stats stats;
  Visitor* visitor = &printer;
  if (!is_decode)
    visitor = &stats;

  FieldStream stream(file.get());
  bool ok = WalkAndReport(kProgram, DisplayName(options.file), type, &stream,
                          visitor);
  if (!is_decode) {
    if (const uint64_t rest = stream.SkipRest())
      stats.AddUnread(rest);
    stats.Print(stdout, color);
  }
  if (!FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    fputs("Try pbz --help.\n", stderr);
    return kWrongUsage;
  }
  switch (options.command) {
    case Options::Command::kHelp:
      fputs(kUsage, stdout);
      return kSuccess;
    case Options::Command::kVersion:
      printf("pbz %s\n", kVersionNumber);
      return kSuccess;
    default:
      return Run(options);
  }
}

}  // namespace

}  // namespace pbz

int main(int argc, char** argv) {
  return pbz::Main(argc, argv);
}
