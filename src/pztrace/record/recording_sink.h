// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_SINK_H_
#define SRC_PZTRACE_RECORD_RECORDING_SINK_H_

#include <stdint.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "src/pztrace/record/file_rotator.h"
#include "src/pztrace/record/loss_warning.h"
#include "src/pztrace/record/recording_session.h"
#include "src/pztrace/record/rule_watcher.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.h"
#include "src/pztrace/record/snapshot.h"
#include "src/pztrace/record/socket_server.h"
#include "src/pztrace/record/trace_drain.h"
#include "src/pztrace/record/triggered_files.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

// Takes the packets out of a session and writes them to files. Begins the next
// file when it is time, tells `pztrace stat` how far it is, and gives `pztrace
// snapshot` a copy. Packets go one way:
//
//   RecordingSession ---TraceDrain---> TraceOutput ---> TraceFile
class RecordingSink {
 public:
  // Reads every |period_ms|; 0 for at the end only. REQUIRES: |session|
  // outlives it. If Run() was called, the session is closed before this ends.
  RecordingSink(RecordingSession* session,
                uint32_t period_ms,
                const Rotation& rotation,
                const Compression& compression);
  RecordingSink(const RecordingSink&) = delete;
  RecordingSink& operator=(const RecordingSink&) = delete;

  // Leaves these texts out of all files and snapshots. Call it before Open().
  void FilterStrings(const StringFilter::Patterns& patterns);
  // Calls |observer| with the packets that are written. Call it before Open().
  void SetObserver(std::function<void(protozero::ConstBytes)> observer) {
    output_.SetObserver(std::move(observer));
  }
  // Writes a file when the session records what a rule names. Call it before
  // the first producer connects. Returns false, and has printed why, if that is
  // not possible.
  bool Watch(const WatchedRules& rules);
  // Opens the file |path|, "-" for the standard output. Returns false, and has
  // printed why, if that is not possible. Nothing that is there changes before
  // Begin().
  bool Open(const std::string& path);
  // Opens the sockets of statistics and snapshots in |folder|. Returns false,
  // and says why, if it cannot have them. REQUIRES: Open() has returned true.
  bool Serve(const std::string& folder, std::string* error);
  // Empties the file. Returns false, and has printed why, if it cannot. Call it
  // before the host runs.
  bool Begin() { return output_.Begin(); }
  // To be called between two calls of the host. Stops the session if it cannot
  // go on. Returns how many milliseconds the host may wait, UINT32_MAX for any
  // time.
  uint32_t Run();
  // Has a file written if the last packets have a match of a rule: a slow
  // request may be the last that a program does. REQUIRES: the session is
  // stopped.
  void LookLast();
  // Writes a part of what there is. Returns whether that was all. REQUIRES: the
  // session is stopped.
  bool WriteRest();
  // Writes packets that come after those of the session. Returns false if the
  // file takes no more.
  bool Append(const std::string& packets) {
    return output_.Write(reinterpret_cast<const uint8_t*>(packets.data()),
                         packets.size()) &&
           output_.Flush();
  }
  // Counts what the file has not taken yet, and what may follow, as lost.
  void GiveUp() { output_.GiveUp(); }
  void Close();

  const TraceOutput& output() const { return output_; }
  // Returns the current statistics. Any thread may call it.
  RecordingStats Stats() const;
  // Returns true if a lack of memory kept a part of the trace from being read.
  bool is_out_of_memory() const { return drain_.is_out_of_memory(); }

 private:
  // Prints a line if packets have been lost lately.
  void WarnOfLosses();

  RecordingSession* const session_;
  const uint32_t period_ms_;
  const Rotation rotation_;
  std::optional<StringFilter> filter_;
  TraceOutput output_;
  TraceDrain drain_;
  FileRotator rotator_;
  TriggeredFiles triggered_;
  std::optional<RuleWatcher> watcher_;
  uint64_t start_ms_ = 0;
  LossWarning loss_warning_;
  PublishedAddress published_;
  // The last members: their threads read the others.
  SocketServer stats_server_;
  SnapshotServer snapshot_server_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_SINK_H_
