// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_PROCESS_TABLE_H_
#define SRC_TRACING_TRACE_READER_PROCESS_TABLE_H_

#include <stdint.h>

#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The writer of a packet, as the service knows it: 0 is not known, and the
// machine 0 is the service's.
struct PacketWriter {
  bool is_known() const { return pid != 0 || machine != 0; }

  uint32_t sequence = 0;  // The packet's trusted_packet_sequence_id.
  int32_t pid = 0;        // Its trusted_pid.
  uint32_t machine = 0;
};

// The processes and threads of a trace. It decides which of them a packet
// means, because ids are not unique: each container has a process 1, and the
// system uses the ids of processes and threads again.
//
// - Two tracks that are described as a process are two processes, even with one
//   pid; and two tracks of threads are two threads. Perfetto sees it that way.
// - A packet that has a pid only means the process that its sequence has
//   described with that pid, or else its program, or else the last one of all.
// - One track that two programs describe is two processes, unless one of the
//   programs is the process itself: then the other one only knows it.
class ProcessTable {
 public:
  static constexpr uint32_t kNone = IdMap::kNone;

  struct Process {
    int32_t pid = 0;
    // The program that has described it, by the pid that the service knows, and
    // its machine. 0 if that is not known.
    int32_t writer_pid = 0;
    uint32_t machine = 0;
    StringId name = TextTable::kEmpty;
    uint64_t uuid = 0;  // Its track; 0 if there is none.
    bool has_made_track = false;
    bool shares_id = false;  // True if another one has that pid.
    // Its number among the processes with that pid and name, from 1 on.
    uint32_t ordinal = 1;
    int64_t start_ns = 0;  // 0 if the trace does not say it.
  };
  struct Thread {
    uint32_t process = kNone;
    int32_t pid = 0;
    int64_t tid = 0;
    StringId name = TextTable::kEmpty;
    uint32_t ordinal = 1;  // Among those of its process with that tid and name.
    uint64_t uuid = 0;
    bool has_made_track = false;
    bool shares_id = false;
    bool is_named_by_itself = false;
  };

  explicit ProcessTable(TextTable* texts) : texts_(texts) {}

  // Returns the process with that pid that a packet of |writer| means, which
  // may be new. |is_own| if it is the writer's own process.
  uint32_t ProcessOf(int32_t pid, const PacketWriter& writer, bool is_own);
  // Returns the process for a track that no process has yet.
  uint32_t ProcessOfNewTrack(int32_t pid, const PacketWriter& writer);
  // Says that |writer| has described the process with its track, and with
  // |pid|.
  void SetDescribed(uint32_t process, int32_t pid, const PacketWriter& writer);
  // Returns the last process with that pid; kNone if there is none.
  uint32_t FindLast(int32_t pid, uint32_t machine) const {
    return last_.Find(KeyOf(machine, pid));
  }

  // Returns the last thread of |process|, which may be kNone, with that tid. It
  // may be new.
  uint32_t ThreadOf(uint32_t process, int32_t pid, int64_t tid);
  // Returns the thread for a track that no thread has yet.
  uint32_t ThreadOfNewTrack(uint32_t process, int32_t pid, int64_t tid);

  // Give a name, unless it is empty. A thread's own name outranks others.
  void NameProcess(uint32_t process, std::string_view name);
  void NameThread(uint32_t thread, std::string_view name, bool is_own);

  Process& process(uint32_t index) { return processes_[index]; }
  const Process& process(uint32_t index) const { return processes_[index]; }
  Thread& thread(uint32_t index) { return threads_[index]; }
  const Thread& thread(uint32_t index) const { return threads_[index]; }

  // Returns whether a description with |pid| by |writer| is of another process
  // than |known|, although both are of one track.
  static bool IsOther(const Process& known,
                      int32_t pid,
                      const PacketWriter& writer);
  // Returns the pid of the process that the service knows, if that is another
  // one than its own pid: then it is in a PID namespace. 0 otherwise, and if
  // its writer has described several processes.
  int32_t OuterPid(const Process& process) const;
  // Says which tid a thread has in its PID namespace. |pid| and |outer_tid| are
  // those outside of it.
  void SetInnerTid(uint32_t machine,
                   int32_t pid,
                   int64_t outer_tid,
                   int64_t tid) {
    outer_tids_[{KeyOf(machine, pid), tid}] = outer_tid;
  }
  // Returns the tid that a thread of |process|, which may be kNone, has outside
  // of its PID namespace. 0 if that is not known, or if it is in none.
  int64_t OuterTid(const Thread& thread, uint32_t process) const;

 private:
  static uint64_t KeyOf(uint32_t high, int32_t low) {
    return uint64_t{high} << 32 | static_cast<uint32_t>(low);
  }
  static uint64_t WriterKey(int32_t pid, const PacketWriter& writer);
  // Return the process that a packet of |writer| means; kNone for a new one.
  uint32_t FindOwn(int32_t pid, const PacketWriter& writer) const;
  uint32_t Find(int32_t pid, const PacketWriter& writer, bool is_own) const;
  uint32_t NewProcess(int32_t pid, const PacketWriter& writer);
  uint32_t NewThread(uint32_t process, int32_t pid, int64_t tid);
  // Makes packets of |writer| with that pid mean |process|.
  void Own(uint32_t process, int32_t pid, const PacketWriter& writer);
  // Number those that share an id: two of them have one name, too.
  void ShareId(uint32_t process);
  void NumberProcess(uint32_t process);
  void NumberThread(uint32_t thread);
  // Returns the number of |owner| among those with |id| and |name|.
  uint32_t OrdinalOf(uint64_t id, StringId name, uint32_t owner);

  TextTable* const texts_;
  std::deque<Process> processes_;
  std::deque<Thread> threads_;
  IdMap last_;          // The last process, by machine and pid.
  IdMap first_;         // The first process, by pid.
  IdMap of_sequences_;  // The process, by sequence and pid.
  IdMap of_writers_;    // The process, by the writer's and its own pid.
  IdMap only_;          // The process of a writer that has described one only.
  IdMap last_threads_;  // The last thread, by process and tid.
  // By machine and outer pid, and by the tid in the namespace.
  std::map<std::pair<uint64_t, int64_t>, int64_t> outer_tids_;
  // The processes and threads that share their id, by it and their name.
  IdMap ordinals_;
  IdMap num_ordinals_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_PROCESS_TABLE_H_
