// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_THREAD_NUMBERS_H_
#define SRC_PZTRACE_TABLES_THREAD_NUMBERS_H_

#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/table/row_writer.h"

namespace pztrace {

// The processes and threads that tracks belong to. Numbers count from 1; 0 is
// none.
class ThreadNumbers {
 public:
  uint32_t UpidOf(const TrackPlace& place) {
    return UpidOf(place.process_number, place.pid);
  }
  // |number| is that of the TrackInfo, 0 for a process that is only known by
  // the pid that the recorder has seen, or not at all.
  uint32_t UpidOf(uint32_t number, int64_t pid);
  uint32_t UtidOf(const TrackPlace& place);
  // Returns the number of a thread that the kernel told about. |pid| may be 0
  // if only a track says the process.
  uint32_t UtidOf(int64_t pid, int64_t tid, std::string_view name);
  // Takes the name of a process or thread from its track.
  void Describe(const TrackInfo& info);
  // Takes the name of a process that no track names.
  void NameProcess(int64_t pid, const std::string& name);

  void Write(table::RowWriter* processes, table::RowWriter* threads);

 private:
  struct Process {
    uint32_t upid = 0;
    int64_t pid = 0;
    std::string name;
    int64_t start_ns = 0;
  };
  struct Thread {
    uint32_t utid = 0;
    uint32_t upid = 0;
    int64_t tid = 0;
    std::string name;
    bool is_main = false;
  };

  Process& Find(uint32_t number, int64_t pid);
  // Returns the first thread of a track with these ids; null if there is none.
  const Thread* FindTracked(int64_t pid, int64_t tid, uint32_t upid) const;
  static void WriteProcess(const Process& process, table::RowWriter* rows);
  void WriteMainThread(const Process& process, table::RowWriter* rows);
  void WriteThread(const Thread& thread, table::RowWriter* rows);

  uint32_t num_processes_ = 0;
  uint32_t num_threads_ = 0;
  // The numbers of processes by the pid that the recorder has seen.
  std::map<int64_t, uint32_t> numbers_;
  std::map<uint32_t, Process> processes_;                      // By number.
  std::map<int64_t, Process> undescribed_processes_;           // By pid.
  std::map<uint32_t, Thread> threads_;                         // By number.
  std::unordered_multimap<int64_t, uint32_t> thread_numbers_;  // By tid.
  // Threads that the kernel told about, and those of them without a track.
  std::map<std::pair<int64_t, int64_t>, Thread> kernel_threads_;
  std::vector<Thread> more_threads_;
  std::set<uint32_t> has_main_;  // Processes, by upid, see WriteMainThread().
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_THREAD_NUMBERS_H_
