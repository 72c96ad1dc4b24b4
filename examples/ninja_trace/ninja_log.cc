// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/ninja_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

namespace ninja_trace {

namespace {

constexpr std::string_view kHeaderStart = "# ninja log v";
constexpr int kOldestVersion = 5;
constexpr int kNewestVersion = 7;

// Ninja does not read longer lines either.
constexpr size_t kMaxLineLength = 256 * 1024;

// The largest time: ninja keeps times in an int.
constexpr uint32_t kMaxTime = std::numeric_limits<int32_t>::max();

// Parses a number. Returns true if |text| is nothing else, and fits T.
template <typename T>
bool ParseNumber(std::string_view text, int base, T* value) {
  const char* end = text.data() + text.size();
  const std::from_chars_result result =
      std::from_chars(text.data(), end, *value, base);
  return result.ec == std::errc() && result.ptr == end;
}

// Cuts |text| at its first tab and returns the part before it in |field|.
// Returns false if there is no tab.
bool CutField(std::string_view* text, std::string_view* field) {
  const size_t tab = text->find('\t');
  if (tab == std::string_view::npos)
    return false;
  *field = text->substr(0, tab);
  text->remove_prefix(tab + 1);
  return true;
}

// Removes the '\r' of a log that went through a Windows machine.
std::string_view WithoutCarriageReturn(std::string_view line) {
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// The parsing functions return null, or a reason why |line|, which has no
// newline at its end, is not as expected.

const char* ParseLogHeader(std::string_view line) {
  line = WithoutCarriageReturn(line);
  if (!StartsWith(line, kHeaderStart))
    return "not a ninja log: it does not begin with '# ninja log v'";
  int version = 0;
  if (!ParseNumber(line.substr(kHeaderStart.size()), 10, &version))
    return "the version of the log is not a number";
  if (version < kOldestVersion || version > kNewestVersion)
    return "this version of the log is not supported; 5 to 7 are";
  return nullptr;
}

// Makes |entry|->output point into |line|.
const char* ParseLogEntry(std::string_view line, LogEntry* entry) {
  line = WithoutCarriageReturn(line);
  std::string_view start, end, mtime;
  if (!CutField(&line, &start) || !CutField(&line, &end) ||
      !CutField(&line, &mtime) || !CutField(&line, &entry->output)) {
    return "fewer than five fields";
  }
  if (line.find('\t') != std::string_view::npos)
    return "more than five fields";
  if (!ParseNumber(start, 10, &entry->start_ms) || entry->start_ms > kMaxTime)
    return "the start time is not a number of milliseconds";
  if (!ParseNumber(end, 10, &entry->end_ms) || entry->end_ms > kMaxTime)
    return "the end time is not a number of milliseconds";
  if (entry->end_ms < entry->start_ms)
    return "the end time is before the start time";
  if (!ParseNumber(mtime, 10, &entry->mtime))
    return "the mtime is not a number";
  if (entry->output.empty())
    return "the output has no name";
  if (entry->output.find('\0') != std::string_view::npos)
    return "the name of the output contains a null character";
  if (!ParseNumber(line, 16, &entry->command_hash))
    return "the command hash is not a hexadecimal number of up to 64 bits";
  return nullptr;
}

const char* ReadLine(std::string_view line,
                     bool is_first,
                     BuildHistory* history) {
  // A log that was appended to another by hand begins with a header, too.
  if (is_first || StartsWith(line, kHeaderStart)) {
    history->StartBuild();
    return ParseLogHeader(line);
  }
  if (line.empty() || line.front() == '#')
    return nullptr;
  LogEntry entry;
  const char* reason = ParseLogEntry(line, &entry);
  if (!reason)
    history->AddEntry(entry);
  return reason;
}

// The memory of getline().
struct Line {
  ~Line() { free(begin); }
  char* begin = nullptr;
  size_t capacity = 0;
};

}  // namespace

bool ReadNinjaLog(FILE* file, const ReportLine& report, BuildHistory* history) {
  Line text;
  for (uint64_t number = 1;; ++number) {
    const ssize_t size = getline(&text.begin, &text.capacity, file);
    if (size < 0) {
      if (feof(file) && number > 1)
        return true;
      report(number, feof(file) ? "the file is empty" : strerror(errno));
      return false;
    }
    std::string_view line(text.begin, static_cast<size_t>(size));
    const char* reason = nullptr;
    if (line.back() != '\n') {
      // It may look complete, and still have half of a name or a hash.
      reason = "the file ends in the middle of this line";
    } else if (line.size() > kMaxLineLength) {
      reason = "the line is too long";
    } else {
      line.remove_suffix(1);
      reason = ReadLine(line, number == 1, history);
    }
    if (reason) {
      report(number, reason);
      if (number == 1)
        return false;
    }
  }
}

}  // namespace ninja_trace
