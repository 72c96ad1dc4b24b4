// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pbz export.

#include "src/pbz/export_main.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/field_path.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/input_kind.h"
#include "src/pbz/message_items.h"
#include "src/pbz/program_name.h"
#include "src/pbz/report.h"
#include "src/pbz/row_columns.h"
#include "src/pbz/row_stream.h"
#include "src/pbz/schema.h"
#include "src/pbz/schema_source.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/table/table_format.h"

namespace pbz {

namespace {

using program::kFailure;
using program::kSuccess;
using program::kWrongUsage;
using protozero::ConstBytes;

struct ExportOptions {
  std::vector<std::string> files;
  std::string format;
  bool delimited = false;
  bool envelope = false;
  table::TableFormat table_format = table::TableFormat::kCsv;
  std::string rows;
  std::string columns;
  std::string file_column;
  bool escape_formulas = false;
  bool from_delimited = false;
  std::string schema;
  std::vector<std::string> import_dirs;
  std::string type;

  bool is_table() const { return !format.empty(); }
  Framing framing() const {
    return from_delimited ? Framing::kDelimited : Framing::kOneMessage;
  }
};

void WriteSize(uint64_t size) {
  uint8_t varint[protozero::proto_utils::kMaxVarIntEncodedSize];
  const uint8_t* const end = protozero::proto_utils::WriteVarInt(size, varint);
  fwrite(varint, 1, static_cast<size_t>(end - varint), stdout);
}

// Reads the file |name| by the options. |use| reads all that is readable, and
// gets the report of the malformed bytes. Returns false, and has printed why,
// if the file cannot be read.
template <typename Use>
bool ReadStream(const std::string& name, Framing framing, Use use) {
  const program::ScopedFile file = program::OpenFile(kProgram, name);
  if (!file)
    return false;
  FieldStream stream(file.get(), FieldStream::kBlockSize, framing);
  bool is_whole = false;
  const ConstBytes begin = stream.Peek(&is_whole);
  const std::string why =
      WhyUnreadable(begin, is_whole, framing, name, "--from-delimited");
  if (!why.empty()) {
    program::PrintError(kProgram, "%s %s", program::DisplayName(name),
                        why.c_str());
    return false;
  }
  MalformedReport report(kProgram, program::DisplayName(name));
  use(&stream, &report);
  const bool is_well_formed = report.Finish() == 0;
  if (stream.error().empty())
    return is_well_formed;
  program::PrintError(kProgram, "%s: %s", program::DisplayName(name),
                      stream.error().c_str());
  return false;
}

bool ExportRows(const ExportOptions& options,
                const MessageType& type,
                const std::vector<PathStep>& path,
                RowColumns* columns) {
  std::vector<table::Column> all = columns->Columns();
  if (!options.file_column.empty())
    all.insert(all.begin(), {options.file_column, table::Column::Type::kText});
  const auto rows = table::CreateRows(
      stdout, {options.table_format, options.escape_formulas}, all);
  MessageItems message;
  bool ok = true;
  for (const std::string& name : options.files) {
    const auto write_rows = [&](FieldStream* stream, MalformedReport* report) {
      ForEachMessage(stream, path, report,
                     [&](ConstBytes bytes, uint64_t offset) {
                       if (!message.Read(bytes, offset, type, report))
                         return true;
                       if (!options.file_column.empty())
                         rows->Text(name);
                       columns->Write(message.items(), rows.get());
                       rows->EndRow();
                       return !ferror(stdout);
                     });
      // The rows before an error have to be written before it is printed.
      rows->Flush();
    };
    ok = ReadStream(name, options.framing(), write_rows) && ok;
  }
  return ok;
}

// Returns whether |bytes| are fields. |report| gets the place where they are
// not.
bool CheckFields(ConstBytes bytes, uint64_t offset, MalformedReport* report) {
  protozero::ProtoDecoder decoder(bytes);
  size_t size = 0;
  while (decoder.ReadField().valid())
    size = decoder.read_offset();
  if (decoder.status() == protozero::DecodeStatus::kOk)
    return true;
  report->Add(offset + size, protozero::DecodeStatusToString(decoder.status()));
  return false;
}

bool ExportDelimited(const ExportOptions& options,
                     const std::vector<PathStep>& path) {
  bool ok = true;
  for (const std::string& name : options.files) {
    const auto write_messages = [&](FieldStream* stream,
                                    MalformedReport* report) {
      ForEachMessage(stream, path, report,
                     [&](ConstBytes bytes, uint64_t offset) {
                       if (CheckFields(bytes, offset, report)) {
                         WriteSize(bytes.size);
                         fwrite(bytes.data, 1, bytes.size, stdout);
                       }
                       return !ferror(stdout);
                     });
    };
    ok = ReadStream(name, options.framing(), write_messages) && ok;
  }
  return ok;
}

// Sets |size| to the number of bytes of |name| to read. Returns false, and has
// printed why, if that is not known.
bool FindSize(const std::string& name, uint64_t* size) {
  const program::ScopedFile file = program::OpenFile(kProgram, name);
  if (!file)
    return false;
  struct stat status;
  const bool has_status = fstat(fileno(file.get()), &status) == 0;
  const long at =
      has_status && S_ISREG(status.st_mode) ? ftell(file.get()) : -1;
  if (at < 0) {
    program::PrintError(
        kProgram,
        "%s: the size of what is no file is only known at its end; "
        "write it to a file first, or use --delimited, which needs none",
        program::DisplayName(name));
    return false;
  }
  *size = static_cast<uint64_t>(std::max<int64_t>(status.st_size - at, 0));
  return true;
}

bool ExportEnvelope(const ExportOptions& options) {
  std::vector<uint64_t> sizes;
  uint64_t sum = 0;
  for (const std::string& name : options.files) {
    if (!FindSize(name, &sizes.emplace_back()))
      return false;
    sum += sizes.back();
  }
  WriteSize(sum);
  auto size = sizes.begin();
  for (const std::string& name : options.files) {
    uint64_t rest = *size++;
    const auto copy = [&](FieldStream* stream, MalformedReport* report) {
      FieldStream::Run run;
      while (rest != 0 && !ferror(stdout) && stream->Next(&run)) {
        // The file may have grown.
        const auto use =
            static_cast<size_t>(std::min<uint64_t>(run.size, rest));
        if (!CheckFields({run.data, use}, run.offset, report))
          break;
        fwrite(run.data, 1, use, stdout);
        rest -= use;
      }
    };
    if (!ReadStream(name, Framing::kOneMessage, copy))
      return false;
    if (rest != 0) {
      program::PrintError(kProgram, "%s: became shorter while it was read",
                          program::DisplayName(name));
      return false;
    }
  }
  return true;
}

// Sets |schema| to that of traces, and adds what all files describe. Returns
// false, and has printed why, if a file is no trace or cannot be read twice.
bool ReadDescriptions(const ExportOptions& options,
                      std::optional<ExtendedSchema>* schema) {
  if (!ExtendedSchema::IsAvailable(kProgram))
    return false;
  schema->emplace();
  for (const std::string& name : options.files) {
    const program::ScopedFile file = program::OpenFile(kProgram, name);
    if (!file)
      return false;
    FieldStream stream(file.get());
    bool is_whole = false;
    if (!(*schema)->IsTrace(kProgram, program::DisplayName(name),
                            stream.Peek(&is_whole)))
      return false;
    if (!(*schema)->ReadAhead(&stream)) {
      program::PrintError(
          kProgram,
          "%s: --schema auto reads traces twice; write it to a file "
          "first",
          program::DisplayName(name));
      return false;
    }
  }
  return true;
}

int RunExport(const ExportOptions& options) {
  std::unique_ptr<Schema> schema;
  std::optional<ExtendedSchema> extended;
  const MessageType* type = nullptr;
  if (options.schema == kAutoSchema) {
    if (!ReadDescriptions(options, &extended))
      return kFailure;
    type = extended->TypeOf({});
  } else if (!options.schema.empty()) {
    schema = LoadSchema(kProgram, options.schema, options.import_dirs);
    if (!schema)
      return kFailure;
    type = ChooseType(kProgram, *schema, options.type);
    if (!type)
      return kWrongUsage;
  }
  std::string error;
  std::vector<PathStep> path;
  if (!options.rows.empty()) {
    path = ParseFieldPath(options.rows, type, &error);
    if (path.empty()) {
      program::PrintError(kProgram, "--rows: %s", error.c_str());
      return kWrongUsage;
    }
    if (type && !path.back().type->message) {
      program::PrintError(kProgram, "--rows: %s is no message",
                          options.rows.c_str());
      return kWrongUsage;
    }
  }
  bool ok = true;
  if (options.envelope) {
    ok = ExportEnvelope(options);
  } else if (options.delimited) {
    ok = ExportDelimited(options, path);
  } else {
    const MessageType& row_type =
        path.empty() ? *type : *path.back().type->message;
    const auto columns = RowColumns::Choose(row_type, options.columns, &error);
    if (!columns) {
      program::PrintError(kProgram, "%s", error.c_str());
      return kWrongUsage;
    }
    for (const table::Column& column : columns->Columns()) {
      if (column.name == options.file_column) {
        program::PrintError(kProgram,
                            "--file-column: there is a column %s already",
                            options.file_column.c_str());
        return kWrongUsage;
      }
    }
    ok = ExportRows(options, row_type, path, columns.get());
  }
  if (extended) {
    extended->ReportUnused(kProgram,
                           options.files.size() == 1
                               ? program::DisplayName(options.files[0])
                               : "the files");
  }
  if (!program::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

program::Command ExportCommand(ExportOptions* options) {
  return {
      "pbz export",
      "--format csv|ndjson|arrow|parquet [options] FILE...\n       pbz export "
      "--delimited|--envelope [options] FILE...",
      R"(Writes the messages of files of protobuf for other programs:

  pbz export --format csv --schema log.proto --rows requests *.pb >requests.csv
)",
      {{"FILE",
        "one message; - is the standard input. Malformed messages are left out "
        "and reported",
        &options->files},
       {table::kFormatOption, table::kFormatHelp, &options->format},
       {"--delimited", "write messages, each after its size",
        &options->delimited},
       {"--envelope",
        "write one message that all files together are, after its size: "
        "ClickHouse's ProtobufList",
        &options->envelope},
       {"--rows PATH",
        "the field whose messages to write, \"packet\" or \"log.requests\"; "
        "without a schema as numbers, \"1.2\". Default: the message that FILE "
        "is",
        &options->rows},
       {"--columns LIST",
        "the fields to write, \"start_ns,peer.host\"; default: all. What is "
        "repeated is JSON",
        &options->columns},
       {"--file-column NAME", "begin rows with a column that names the FILE",
        &options->file_column},
       {"--escape-formulas",
        "for spreadsheets: begin texts in CSV that they would compute with a '",
        &options->escape_formulas},
       {"--from-delimited", "read messages from FILE, each after its size",
        &options->from_delimited},
       {"--schema FILE",
        "a .proto or a descriptor set, or auto for traces, as for pbz decode",
        &options->schema},
       {"-I, --proto_path DIR",
        "where the imports of the .proto are; repeatable",
        &options->import_dirs},
       {"--type NAME", "the type of the message in FILE, as for pbz decode",
        &options->type}},
      "The exit code is 0 if all is well, 1 if a file is malformed or cannot "
      "be read,\n2 for wrong usage.\n"};
}

// Sets the format of tables. Returns the problem with the choice of a format,
// or an empty string.
std::string ChooseFormat(ExportOptions* options) {
  if (options->is_table() + options->delimited + options->envelope != 1)
    return "one of --format, --delimited and --envelope is needed";
  if (!options->is_table())
    return "";
  std::string why;
  const auto format = table::FormatOf(options->format, &why);
  if (format)
    options->table_format = *format;
  return why;
}

// Returns the problem with options that do not go together, or an empty string.
std::string ProblemWithExport(const ExportOptions& options) {
  if (options.is_table() && options.schema.empty())
    return "tables need --schema, which has names and types";
  if (!options.is_table() &&
      !(options.columns.empty() && options.file_column.empty()))
    return "--columns and --file-column are for tables";
  if (options.escape_formulas &&
      (!options.is_table() ||
       options.table_format != table::TableFormat::kCsv)) {
    return "--escape-formulas is for --format csv";
  }
  if (options.delimited && options.rows.empty() && !options.from_delimited) {
    return "--delimited needs --rows, the field whose messages to write; "
           "--envelope writes the file as one";
  }
  if (options.envelope && (!options.rows.empty() || options.from_delimited))
    return "--envelope writes files as they are, without --rows and "
           "--from-delimited";
  if (options.schema.empty() && !options.type.empty())
    return "--type needs --schema, which has the type";
  if (options.schema.empty() && !options.import_dirs.empty())
    return "-I needs --schema, a .proto with imports";
  if (options.schema == kAutoSchema &&
      (!options.type.empty() || !options.import_dirs.empty() ||
       options.from_delimited)) {
    return "--schema auto is for traces, without --type, -I and "
           "--from-delimited";
  }
  if (std::count(options.files.begin(), options.files.end(), "-") +
          (options.schema == "-") >
      1) {
    return "the standard input can be read once";
  }
  return "";
}

}  // namespace

int ExportMain(int argc, char** argv) {
  ExportOptions options;
  const program::Command command = ExportCommand(&options);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  std::string problem = ChooseFormat(&options);
  if (problem.empty())
    problem = ProblemWithExport(options);
  if (!problem.empty())
    return program::WrongUsage(command, problem);
  return RunExport(options);
}

}  // namespace pbz
