// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#if defined(_WIN32)

// This include has to precede the other headers of Windows.
#include <windows.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>

#include "src/pbz/run_protoc.h"
#include "src/program/io.h"

namespace pbz {

namespace {

constexpr int kStandardError = 2;

// An empty file with a name of its own, which is deleted with this object.
// tmpfile() would make one in a folder where most users must not write.
class TemporaryFile {
 public:
  TemporaryFile() {
    char folder[MAX_PATH + 1];
    char path[MAX_PATH + 1];
    if (GetTempPathA(sizeof(folder), folder) != 0 &&
        GetTempFileNameA(folder, "pbz", 0, path) != 0) {
      path_ = path;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty())
      DeleteFileA(path_.c_str());
  }

  const std::string& path() const { return path_; }

  std::vector<uint8_t> Read() const {
    std::vector<uint8_t> content;
    const program::ScopedFile file(fopen(path_.c_str(), "rb"));
    uint8_t block[1 << 14];
    while (const size_t size =
               file ? fread(block, 1, sizeof(block), file.get()) : 0) {
      content.insert(content.end(), block, block + size);
    }
    return content;
  }

 private:
  std::string path_;
};

// Returns |arg| for a command line. Programs get one line, which their C
// library splits by these rules: quotes are around an argument, a backslash is
// before a quote, and backslashes in front of a quote are doubled.
std::string QuotedArgument(const std::string& arg) {
  std::string quoted = "\"";
  size_t backslashes = 0;
  for (const char c : arg) {
    if (c == '"')
      quoted.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    quoted += c;
  }
  quoted.append(backslashes, '\\');
  return quoted + '"';
}

// Runs |args| with its standard error in the file |messages|. Returns the exit
// code, or -1 and errno if the program cannot be run.
int RunProgram(const std::vector<std::string>& args,
               const std::string& messages) {
  std::vector<std::string> quoted;
  for (const std::string& arg : args)
    quoted.push_back(QuotedArgument(arg));
  std::vector<const char*> argv;
  for (const std::string& arg : quoted)
    argv.push_back(arg.c_str());
  argv.push_back(nullptr);

  fflush(stderr);
  const int ours = _dup(kStandardError);
  const int file = _open(messages.c_str(), _O_WRONLY | _O_TRUNC | _O_BINARY);
  if (file >= 0) {
    _dup2(file, kStandardError);
    _close(file);
  }
  const intptr_t code = _spawnvp(_P_WAIT, args[0].c_str(), argv.data());
  const int error = errno;
  if (ours >= 0) {
    _dup2(ours, kStandardError);
    _close(ours);
  }
  errno = error;
  return static_cast<int>(code);
}

}  // namespace

const char kPathSeparators[] = "/\\:";

ProtocResult RunProtoc(const std::vector<std::string>& args) {
  ProtocResult result;
  const TemporaryFile output;
  const TemporaryFile messages;
  if (output.path().empty() || messages.path().empty()) {
    result.outcome = ProtocResult::kNoTemporaryFile;
    result.error = EACCES;
    return result;
  }
  std::vector<std::string> command = {"protoc",
                                      "--descriptor_set_out=" + output.path()};
  command.insert(command.end(), args.begin(), args.end());
  result.exit_code = RunProgram(command, messages.path());
  if (result.exit_code < 0) {
    result.outcome = ProtocResult::kNotStarted;
    result.error = errno;
    return result;
  }
  result.descriptor_set = output.Read();
  result.messages = messages.Read();
  return result;
}

}  // namespace pbz

#endif  // defined(_WIN32)
