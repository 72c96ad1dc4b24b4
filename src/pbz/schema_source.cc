// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/schema_source.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <string_view>
#include <utility>

#include "src/pbz/input_kind.h"
#include "src/pbz/run_protoc.h"
#include "src/program/io.h"
#include "src/program/text.h"

namespace pbz {

namespace {

// The number of messages that an error names.
constexpr size_t kMaxNamed = 5;

constexpr char kHowToMakeASet[] =
    "protoc --include_imports --descriptor_set_out=SET X.proto";

std::string FolderOf(const std::string& path) {
  const size_t end = path.find_last_of(kPathSeparators);
  if (end == std::string::npos)
    return ".";
  // In the root, or that of a drive, the folder is the separator, too.
  const bool is_root = end == 0 || path[end] == ':' || path[end - 1] == ':';
  return path.substr(0, is_root ? end + 1 : end);
}

// Compiles the file. Returns false, and has printed why, if protoc refuses it.
bool Compile(const char* program,
             const std::string& path,
             const std::vector<std::string>& import_dirs,
             std::string_view proto,
             std::vector<uint8_t>* set) {
  std::vector<std::string> args = {"--include_imports"};
  std::vector<std::string> dirs = import_dirs;
  dirs.push_back(FolderOf(path));
  if (import_dirs.empty() && dirs.back() != ".")
    dirs.push_back(".");
  for (const std::string& dir : dirs)
    args.push_back("--proto_path=" + dir);
  // protoc would take such a path for an option, or for a file of options.
  const bool is_special = path[0] == '-' || path[0] == '@';
  args.push_back(is_special ? "./" + path : path);

  ProtocResult result = RunProtoc(args);
  if (result.outcome == ProtocResult::kNoTemporaryFile) {
    program::PrintError(program, "no temporary file: %s",
                        strerror(result.error));
    return false;
  }
  if (result.outcome == ProtocResult::kNotStarted && result.error == ENOENT) {
    program::PrintError(
        program,
        "%s: there is no protoc to compile it; install one (Debian: "
        "protobuf-compiler), or give a descriptor set that was made "
        "elsewhere: %s",
        path.c_str(), kHowToMakeASet);
    return false;
  }
  if (result.outcome == ProtocResult::kNotStarted) {
    program::PrintError(program, "protoc: %s", strerror(result.error));
    return false;
  }
  if (result.exit_code != 0) {
    const std::string shown = program::Shown(
        protozero::ConstBytes(result.messages).ToStdStringView());
    fwrite(shown.data(), 1, shown.size(), stderr);
    // Old versions of protoc print a lot about editions, but not that they do
    // not know them.
    const auto has = [&](const char* word) {
      return proto.find(word) != std::string_view::npos;
    };
    program::PrintError(
        program, "%s: protoc does not compile it%s%s", path.c_str(),
        has("import") ? "; -I says where imports are" : "",
        has("edition") ? "; editions need a protoc that knows them" : "");
    return false;
  }
  *set = std::move(result.descriptor_set);
  return true;
}

bool IsNameOfProto(const std::string& path) {
  constexpr std::string_view kSuffix = ".proto";
  return path.size() > kSuffix.size() &&
         path.compare(path.size() - kSuffix.size(), kSuffix.size(), kSuffix) ==
             0;
}

// Lists a few of the names, each after |before|.
std::string Few(const std::vector<std::string>& names, const char* before) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    text += i == 0 ? "" : ", ";
    text += before + names[i];
  }
  if (names.size() > kMaxNamed)
    text += ", or " + program::CountOf(names.size() - kMaxNamed, "other");
  return text;
}

}  // namespace

std::unique_ptr<Schema> LoadSchema(
    const char* program,
    const std::string& path,
    const std::vector<std::string>& import_dirs) {
  std::vector<uint8_t> content;
  if (!program::ReadFile(program, path, &content))
    return nullptr;
  std::string error;
  std::unique_ptr<Schema> schema = Schema::Parse(content, &error);
  const bool is_text = program::IsText(program::WithoutByteOrderMark(
      protozero::ConstBytes(content).ToStdStringView()));
  if (!schema && !content.empty() && (is_text || IsNameOfProto(path))) {
    if (path == "-") {
      program::PrintError(
          program,
          "<stdin>: a .proto has to be in a file, a descriptor set need "
          "not: %s",
          kHowToMakeASet);
      return nullptr;
    }
    std::vector<uint8_t> set;
    if (!Compile(program, path, import_dirs,
                 protozero::ConstBytes(content).ToStdStringView(), &set)) {
      return nullptr;
    }
    content = std::move(set);
    schema = Schema::Parse(content, &error);
  }
  if (!schema) {
    if (const char* compression = CompressionOf(content)) {
      program::PrintError(program,
                          "%s: is compressed; unpack it with %s -d first",
                          program::DisplayName(path), compression);
    } else {
      program::PrintError(program, "%s: %s; make one with %s",
                          program::DisplayName(path), error.c_str(),
                          kHowToMakeASet);
    }
    return nullptr;
  }
  const std::vector<std::string>& missing = schema->missing_types();
  if (!missing.empty()) {
    program::PrintError(
        program,
        "%s lacks %s (%s%s), whose fields are guessed; make it with "
        "protoc --include_imports",
        program::DisplayName(path),
        program::CountOf(missing.size(), "type").c_str(),
        missing.front().c_str(), missing.size() == 1 ? "" : ", ...");
  }
  return schema;
}

const MessageType* ChooseType(const char* program,
                              const Schema& schema,
                              const std::string& name) {
  if (name.empty()) {
    const std::vector<std::string> roots = schema.RootMessages();
    if (roots.size() == 1)
      return schema.FindMessage(roots[0]);
    if (roots.empty()) {
      program::PrintError(
          program,
          "every message of the schema is in another one; give the type "
          "of the file, as --type NAME");
    } else {
      program::PrintError(program,
                          "the file may be one of several messages: %s",
                          Few(roots, "--type ").c_str());
    }
    return nullptr;
  }
  if (const MessageType* type = schema.FindMessage(name))
    return type;
  const std::vector<std::string> candidates = schema.NamesEndingIn(name);
  if (candidates.empty()) {
    program::PrintError(program, "the schema has no message '%s'; it has %s",
                        name.c_str(), Few(schema.RootMessages(), "").c_str());
  } else {
    program::PrintError(program, "several types end in '%s': %s", name.c_str(),
                        Few(candidates, "--type ").c_str());
  }
  return nullptr;
}

}  // namespace pbz
