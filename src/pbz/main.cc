// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The command line of pbz: it chooses the file, the schema and the command, and
// prints what went wrong.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/export_main.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/field_stats.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/input_kind.h"
#include "src/pbz/printer.h"
#include "src/pbz/program_name.h"
#include "src/pbz/report.h"
#include "src/pbz/schema.h"
#include "src/pbz/schema_source.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using program::kFailure;
using program::kSuccess;
using program::kWrongUsage;

struct Options {
  bool is_stats = false;
  bool has_command = false;  // False means decode.
  std::string file;
  bool delimited = false;
  std::vector<std::string> import_dirs;
  std::string schema;
  std::string type;
  std::string color = "auto";
  bool offsets = false;
};

int Run(const Options& options) {
  std::unique_ptr<Schema> schema;
  const MessageType* type = nullptr;
  std::optional<ExtendedSchema> extended;
  if (options.schema == kAutoSchema) {
    if (!ExtendedSchema::IsAvailable(kProgram))
      return kFailure;
    extended.emplace();
  } else if (!options.schema.empty()) {
    schema = LoadSchema(kProgram, options.schema, options.import_dirs);
    if (!schema)
      return kFailure;
    type = ChooseType(kProgram, *schema, options.type);
    if (!type)
      return kWrongUsage;
  }
  const program::ScopedFile file = program::OpenFile(kProgram, options.file);
  if (!file) {
    if (!options.has_command && errno == ENOENT &&
        options.file.find_first_of("./") == std::string::npos) {
      program::PrintError(
          kProgram,
          "it is not a command, either: these are decode, export and stats");
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
    program::PrintError(kProgram, "%s %s", program::DisplayName(options.file),
                        why.c_str());
    return kFailure;
  }
  if (extended &&
      !extended->IsTrace(kProgram, program::DisplayName(options.file), begin))
    return kFailure;
  const bool is_text =
      begin.size != 0 && program::IsText(begin.ToStdStringView());
  const bool color = *program::UseColor(options.color);
  Printer::Options printer_options;
  printer_options.color = color;
  printer_options.offsets = options.offsets;
  Printer printer(stdout, printer_options);
  Stats stats;
  Visitor* visitor = &printer;
  if (options.is_stats)
    visitor = &stats;

  if (extended)
    extended->ReadAhead(&stream);
  bool ok = WalkAndReport(
      kProgram, program::DisplayName(options.file),
      [&](protozero::ConstBytes fields) {
        return extended ? extended->TypeOf(fields) : type;
      },
      &stream, visitor);
  if (extended)
    extended->ReportUnused(kProgram, program::DisplayName(options.file));
  if (!ok && is_text) {
    program::PrintError(kProgram,
                        "%s is text; protoc --encode makes a message of it",
                        program::DisplayName(options.file));
  }
  if (options.is_stats) {
    if (const uint64_t rest = stream.SkipRest())
      stats.AddUnread(rest);
    stats.Print(stdout, color);
  }
  if (!program::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

bool Exists(const std::string& path) {
  return program::ScopedFile(fopen(path.c_str(), "rb")) != nullptr;
}

// Returns the command line of pbz stats or of pbz.
program::Command DecodeCommand(Options* options) {
  program::Command command = {
      options->is_stats ? "pbz stats" : "pbz",
      options->is_stats ? "[options] FILE"
                        : "[decode] [options] FILE\n       pbz stats [options] "
                          "FILE\n       pbz export [options] FILE...",
      options->is_stats
          ? R"(Prints where the bytes of a file of protobuf go: how many each field has, and
how many of them are tags and sizes. "With inner" adds the fields of a message
to its own bytes.
)"
          : R"(Prints the fields of a file of protobuf, of any size: with a schema line by line
as protoc --decode does, without one with guesses, which comments say
(# message?). `pbz stats` prints where the bytes go,
`pbz export` writes tables and messages for other programs.
)",
      {{"FILE",
        "one message; - is the standard input. Malformed input is reported "
        "after the fields that could be read",
        &options->file},
       {"--schema FILE",
        "a .proto, which needs protoc, or the descriptor set that protoc makes "
        "of it with --include_imports and --descriptor_set_out=FILE. auto is "
        "the schema of traces, with the extensions that FILE itself describes. "
        "Without a schema, names are numbers",
        &options->schema},
       {"-I, --proto_path DIR",
        "where the imports of the .proto are, as for protoc; repeatable",
        &options->import_dirs},
       {"--type NAME",
        "the type of the message, \"pkg.Name\" or the end of that; not needed "
        "if the schema has one message that is in no other",
        &options->type},
       {"--delimited", "FILE is a stream of messages, each after its size",
        &options->delimited},
       {"--color WHEN",
        "auto (the default: on a terminal, unless NO_COLOR is set), always or "
        "never",
        &options->color}},
      "The exit code is 0 if all is well, 1 if the file is malformed or cannot "
      "be read,\n2 for wrong usage.\n"};
  if (!options->is_stats) {
    command.options.push_back({"--offsets",
                               "begin each line with the field's offset and "
                               "size",
                               &options->offsets});
  }
  return command;
}

// Returns the problem with options that do not go together, or an empty string.
std::string ProblemWith(const Options& options) {
  if (options.schema.empty() && !options.type.empty())
    return "--type needs --schema, which has the type";
  if (options.schema.empty() && !options.import_dirs.empty())
    return "-I needs --schema, a .proto with imports";
  if (options.schema == kAutoSchema &&
      (!options.type.empty() || !options.import_dirs.empty() ||
       options.delimited)) {
    return "--schema auto is for traces, without --type, -I and --delimited";
  }
  if (options.schema == "-" && options.file == "-")
    return "the standard input is either the schema or the file";
  if (!program::UseColor(options.color))
    return "--color is auto, always or never";
  return "";
}

int Main(int argc, char** argv) {
  Options options;
  std::string_view word = argc > 1 ? argv[1] : "";
  // "help stats" is "stats --help".
  char help[] = "--help";
  char* help_words[] = {argv[0], argc > 2 ? argv[2] : help, help, nullptr};
  if (word == "help" && argc <= 3 && !Exists("help")) {
    argv = help_words;
    word = argv[1];
  }
  if (word == "export")
    return ExportMain(argc - 1, argv + 1);
  options.is_stats = word == "stats";
  options.has_command = options.is_stats || word == "decode";
  const program::Command command = DecodeCommand(&options);
  const std::string suggestion =
      program::Suggestion(word, {"decode", "export", "stats", "help"});
  if (!options.has_command && word.substr(0, 1) != "-" && !suggestion.empty() &&
      !Exists(argv[1])) {
    return WrongUsage(
        command, "unknown command '" + std::string(word) + "'" + suggestion);
  }
  const int skipped = options.has_command ? 1 : 0;
  if (const auto exit_code =
          program::Parse(command, argc - skipped, argv + skipped)) {
    return *exit_code;
  }
  const std::string problem = ProblemWith(options);
  if (!problem.empty())
    return WrongUsage(command, problem);
  return Run(options);
}

}  // namespace

}  // namespace pbz

int main(int argc, char** argv) {
  // Handles a lack of memory alike with and without exceptions.
  std::set_new_handler([] {
    fflush(stdout);
    fputs("pbz: out of memory\n", stderr);
    _exit(program::kFailure);
  });
  program::UseBinaryStreams();
  return pbz::Main(argc, argv);
}
