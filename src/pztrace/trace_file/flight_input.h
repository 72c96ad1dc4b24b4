// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_FLIGHT_INPUT_H_
#define SRC_PZTRACE_TRACE_FILE_FLIGHT_INPUT_H_

#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "src/pztrace/trace_file/core_dump.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/local/flight_reader.h"

namespace pztrace {

// The recording of a flight recorder: the bytes of its file, which may change
// meanwhile. Or all recordings in the core dump of a process, or the files of
// several programs in a folder, see FlightFolder.
class FlightInput {
 public:
  // A program, and its packets by what became of them.
  struct Program {
    int32_t pid;
    protozero::TraceBufferStats stats;
  };

  // Reads |path|; "-" is the standard input, which has to be a file, too.
  // Returns false, and has printed why, if there is no recording.
  bool Open(const std::string& path);
  // Returns whether it is a folder in which no program has left a file that can
  // be read.
  bool LacksPrograms() const;
  // Passes a trace of it to |write|; it ends now if |goes_on|, or if a program
  // is still writing. Returns false if |write| has, or if there is no memory.
  // Prints which programs are missing because their files are damaged, and what
  // a core dump that is cut lacks. REQUIRES: Open() has returned true; called
  // once.
  bool WriteTrace(const protozero::FlightReader::Write& write,
                  bool goes_on = false);

  // Return the programs in the trace, after WriteTrace(), and their sums.
  const std::vector<Program>& programs() const { return programs_; }
  protozero::TraceStats Stats() const;

 private:
  // The bytes of a file, and their reader.
  struct File {
    std::unique_ptr<uint64_t[]> bytes;
    protozero::FlightReader reader;
  };

  // Reads a file or a core dump. Returns false on failure, with the reason in
  // |error|.
  bool ReadFile(protozero::ScopedFd fd, uint64_t size, std::string* error);
  // Reads the recording that begins at |offset|, and may have |max_size| bytes.
  // It has |wanted_size|, unless that is 0.
  static bool Read(int fd,
                   uint64_t offset,
                   uint64_t max_size,
                   uint64_t wanted_size,
                   File* file,
                   std::string* error);
  // Finds the first recording of a core dump.
  bool ReadCore(protozero::ScopedFd fd, uint64_t size, std::string* error);
  bool WriteProgram(protozero::FlightReader* reader,
                    uint32_t uid,
                    int32_t pid,
                    const protozero::FlightReader::Write& write);
  bool WriteFolder(const protozero::FlightReader::Write& write);
  // Reads the file of a program in the folder. Returns false on failure, with
  // the reason in |error|; that is empty if the file is gone.
  bool ReadProgram(const std::string& path, File* file, std::string* error);
  bool WriteCore(const protozero::FlightReader::Write& write);

  // The folder; empty if the recording is a file.
  std::string folder_;
  // That file, the one of the folder's recorder, or the first header in the
  // core dump.
  File file_;
  // Null if the recording is no core dump; and its next recording.
  std::unique_ptr<CoreDump> core_;
  protozero::ConstBytes next_in_core_{};
  uint32_t last_sequence_id_ = 0;
  // True if a program still has one of the files.
  bool goes_on_ = false;
  // The programs whose files cannot be read.
  uint64_t num_unreadable_ = 0;
  std::vector<Program> programs_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_FLIGHT_INPUT_H_
