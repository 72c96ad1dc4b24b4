// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace merge.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/edit/trace_merger.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/trace_archive.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;

// The name that an archive's file begins with has to fit into its header.
constexpr size_t kMaxHostSize = 64;

bool IsHost(std::string_view text) {
  return !text.empty() && text.size() <= kMaxHostSize &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         });
}

// Returns the host of HOST=TRACE, and removes it from |*argument|. Returns an
// empty text if there is none. A path begins with no host.
std::string TakeHost(std::string* argument) {
  const size_t end = argument->find('=');
  if (end == std::string::npos || argument->find('/') < end)
    return "";
  const std::string host = argument->substr(0, end);
  argument->erase(0, end + 1);
  return host;
}

bool Fail(const std::string& file, const char* why) {
  program::PrintError(kProgram, "%s: %s", program::DisplayName(file), why);
  return false;
}

// Sets |*size| to that of a file that can be archived. Returns false, and has
// printed why, if it cannot.
bool CheckForArchive(const std::string& file, uint64_t* size) {
  struct stat status;
  if (file == "-" || stat(file.c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return Fail(file, "an archive needs a file");
  }
  *size = static_cast<uint64_t>(status.st_size);
  if (*size > kMaxArchivedBytes)
    return Fail(file, "an archive takes files of up to 8 GiB");
  // Says if it is no trace.
  TraceInput input;
  return input.Open(file, "merge");
}

// Copies the file into the archive.
bool ArchiveFile(const std::string& file,
                 uint64_t size,
                 const std::string& path,
                 OutputFile* archive) {
  const program::ScopedFile bytes = program::OpenFile(kProgram, file);
  if (!bytes || !archive->Write(ArchiveHeader(path, size)))
    return false;
  std::vector<char> block(size_t{1} << 16);
  uint64_t num_bytes = 0;
  while (const size_t count =
             fread(block.data(), 1, block.size(), bytes.get())) {
    num_bytes += count;
    if (!archive->Write({block.data(), count}))
      return false;
  }
  if (num_bytes != size)
    return Fail(file, "it cannot be read, or has changed meanwhile");
  return archive->Write(ArchivePadding(size));
}

bool ArchiveInto(const std::string& output,
                 const std::vector<std::string>& hosts,
                 const std::vector<std::string>& files) {
  std::vector<ArchivedTrace> traces;
  std::vector<uint64_t> sizes(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (!CheckForArchive(files[i], &sizes[i]))
      return false;
    traces.push_back(
        {hosts[i], hosts[i] + "-" + std::to_string(i + 1) + ".pftrace"});
  }
  const std::string manifest = ArchiveManifest(traces);
  OutputFile archive;
  if (!archive.Open(output) ||
      !archive.Write(
          ArchiveHeader("perfetto_manifest.json", manifest.size())) ||
      !archive.Write(manifest) ||
      !archive.Write(ArchivePadding(manifest.size()))) {
    return false;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (!ArchiveFile(files[i], sizes[i], traces[i].path, &archive))
      return false;
  }
  return archive.Write(ArchiveEnd()) && archive.Close();
}

}  // namespace

bool MergeTraces(const std::string& output,
                 const std::vector<std::string>& files,
                 const char* command) {
  constexpr size_t kBytesAtOnce = size_t{1} << 16;
  std::deque<TraceInput> inputs;
  TraceMerger merger;
  for (const std::string& file : files) {
    if (!inputs.emplace_back().Open(file, command))
      return false;
    merger.Add(program::DisplayName(file), &inputs.back().stream());
  }
  OutputFile merged;
  if (!merger.Survey()) {
    program::PrintError(kProgram, "%s", merger.error().c_str());
    return false;
  }
  if (!merged.Open(output))
    return false;
  std::string bytes;
  while (merger.Next(&bytes)) {
    if (bytes.size() < kBytesAtOnce)
      continue;
    if (!merged.Write(bytes))
      return false;
    bytes.clear();
  }
  if (!merged.Write(bytes) || !merged.Close())
    return false;
  if (!merger.error().empty())
    program::PrintError(kProgram, "%s", merger.error().c_str());
  for (const std::string& name : merger.damaged())
    Fail(name, "the trace is damaged; the output has what comes before that");
  return merger.error().empty() && merger.damaged().empty();
}

int MergeMain(int argc, char** argv) {
  std::vector<std::string> files;
  std::string output;
  const program::Command command = {
      "pztrace merge",
      "[options] -o FILE TRACE...",
      R"(Makes one trace of several that were recorded on one host:

  pztrace merge -o all.pftrace server.pftrace worker.pftrace

or an archive of traces of several hosts, for Perfetto 58 or later:

  pztrace merge -o all.tar web=web.pftrace db=db.pftrace
)",
      {{"TRACE", "a trace, a file; or HOST=TRACE for an archive", &files},
       {"-o, --output FILE", "where it goes; - is the standard output",
        &output}},
      "Use cat for the files of one recording (record --rotate).\n"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (output.empty())
    return WrongUsage(command, "-o is missing: where the trace goes");
  std::vector<std::string> hosts;
  for (std::string& file : files) {
    const std::string host = TakeHost(&file);
    if (host.empty())
      continue;
    if (!IsHost(host)) {
      return WrongUsage(command,
                        "a host has letters, digits, '.', '_' and "
                        "'-', and no more than 64 of them");
    }
    hosts.push_back(host);
  }
  if (!hosts.empty() && hosts.size() != files.size())
    return WrongUsage(command, "for an archive, each trace is HOST=TRACE");
  const std::string problem = OutputProblem(files, output);
  if (!problem.empty())
    return WrongUsage(command, problem);
  const bool ok = hosts.empty() ? MergeTraces(output, files, "merge")
                                : ArchiveInto(output, hosts, files);
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
