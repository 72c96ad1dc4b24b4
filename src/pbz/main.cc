// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The command line of pbz: which file, which schema, what to do, and what went
// wrong.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/pbz/field_stream.h"
#include "src/pbz/input_kind.h"
#include "src/pbz/printer.h"
#include "src/pbz/program_io.h"
#include "src/pbz/report.h"
#include "src/pbz/schema.h"
#include "src/pbz/schema_source.h"
#include "src/pbz/stats.h"
#include "src/pbz/text.h"

namespace pbz {

namespace {

constexpr char kProgram[] = "pbz";
constexpr char kVersionNumber[] = "0.1.0";

constexpr char kUsage[] =
    R"(Usage: pbz [decode] [options] FILE
       pbz stats [options] FILE

Shows what is in a file of protobuf, of any size, with or without a schema.

  decode  prints the fields: with a schema line by line as protoc --decode does,
          without one with guesses, which comments say (# message?)
  stats   tells where the bytes go: by field, how many, and how many of them
          are tags and sizes; "with inner" adds the fields of a message to it

FILE is one message; - is the standard input. What is malformed is reported,
after what could be read.

  --schema FILE  a .proto, for which there has to be a protoc, or the descriptor
                 set that protoc makes of it with --include_imports and
                 --descriptor_set_out=FILE. Without one, names are numbers
  -I DIR         where the imports of the .proto are, as for protoc; repeatable
  --type NAME    the type of the message, "pkg.Name" or the end of that; not
                 needed if the schema has one message that is in no other
  --delimited    FILE is a stream of messages, each after its size
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
  bool has_command = false;  // Named one; decode is what is meant otherwise.
  bool delimited = false;
  std::vector<std::string> import_dirs;
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
  std::string import_dir;
  const ValueOption value_options[] = {
      {"-I", &import_dir},
      {"--proto_path", &import_dir},
      {"--schema", &options->schema},
      {"--type", &options->type},
      {"--color", &options->color},
  };
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (only_files || arg.size() < 2 || arg.front() != '-') {
      const bool may_be_command =
          options->command == Command::kNone && !only_files;
      if (may_be_command && (arg == "decode" || arg == "stats")) {
        options->command = arg == "stats" ? Command::kStats : Command::kDecode;
        options->has_command = true;
        continue;
      }
      if (options->command == Command::kNone)
        options->command = Command::kDecode;
      if (!options->file.empty() || arg.empty()) {
        PrintError(kProgram, "exactly one file is expected, '%s' is another",
                   argv[i]);
        return false;
      }
      options->file = arg;
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
    if (arg == "--offsets" || arg == "--delimited") {
      (arg == "--offsets" ? options->offsets : options->delimited) = true;
      continue;
    }
    if (arg.size() > 2 && arg.substr(0, 2) == "-I") {
      options->import_dirs.emplace_back(arg.substr(2));
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
    } else if (++i < argc) {
      *found->value = argv[i];
    }
    if (found->value->empty() || i == argc) {
      PrintError(kProgram, "%s needs a value", std::string(name).c_str());
      return false;
    }
    if (!import_dir.empty())
      options->import_dirs.push_back(std::move(import_dir));
    import_dir.clear();
  }

  if (options->file.empty()) {
    PrintError(kProgram, "which file? (- is the standard input)");
  } else if (options->schema.empty() && !options->type.empty()) {
    PrintError(kProgram, "--type needs --schema, which has the type");
  } else if (options->schema.empty() && !options->import_dirs.empty()) {
    PrintError(kProgram, "-I needs --schema, a .proto with imports");
  } else if (options->schema == "-" && options->file == "-") {
    PrintError(kProgram, "the standard input is either the schema or the file");
  } else if (!UseColor(options->color)) {
    PrintError(kProgram, "--color is auto, always or never");
  } else if (options->offsets && options->command != Command::kDecode) {
    PrintError(kProgram, "--offsets is for decode");
  } else {
    return true;
  }
  return false;
}

int Run(const Options& options) {
  std::unique_ptr<Schema> schema;
  const MessageType* type = nullptr;
  if (!options.schema.empty()) {
    schema = LoadSchema(kProgram, options.schema, options.import_dirs);
    if (!schema)
      return kFailure;
    type = ChooseType(kProgram, *schema, options.type);
    if (!type)
      return kWrongUsage;
  }
  const ScopedFile file = OpenFile(kProgram, options.file);
  if (!file) {
    if (!options.has_command && errno == ENOENT &&
        options.file.find_first_of("./") == std::string::npos) {
      PrintError(kProgram, "nor is it a command; those are decode and stats");
    }
    return kFailure;
  }
  FieldStream stream(
      file.get(), FieldStream::kBlockSize,
      options.delimited ? Framing::kDelimited : Framing::kOneMessage);
  bool is_whole = false;
  const protozero::ConstBytes begin = stream.Peek(&is_whole);
  const std::string why =
      WhyUnreadable(begin, is_whole, stream.framing(), options.file);
  if (!why.empty()) {
    PrintError(kProgram, "%s %s", DisplayName(options.file), why.c_str());
    return kFailure;
  }
  const bool is_text = begin.size != 0 && IsText(begin.ToStdStringView());
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

  bool ok = WalkAndReport(kProgram, DisplayName(options.file), type, &stream,
                          visitor);
  if (!ok && is_text) {
    PrintError(kProgram, "%s is text; protoc --encode makes a message of it",
               DisplayName(options.file));
  }
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
