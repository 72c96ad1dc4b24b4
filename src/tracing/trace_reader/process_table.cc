// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/process_table.h"

#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The value of ProcessTable::only_ if a writer has described several processes.
constexpr uint32_t kSeveral = IdMap::kNone - 1;

uint64_t MixOf(uint64_t a, uint64_t b) {
  a = (a ^ (a >> 31)) * 0x7fb5d329728ea185;
  a = ((a ^ (a >> 27)) + b) * 0x81dadef4bc2dd44d;
  a = (a ^ (a >> 33)) * 0x9e3779b97f4a7c15;
  return a ^ (a >> 29);
}

}  // namespace

bool ProcessTable::IsOther(const Process& known,
                           int32_t pid,
                           const PacketWriter& writer) {
  if (known.machine != writer.machine)
    return true;
  if (known.writer_pid == 0 || writer.pid == 0 ||
      known.writer_pid == writer.pid) {
    return false;
  }
  // Outside of PID namespaces, one of both is the process.
  return known.pid != pid || (known.writer_pid != pid && writer.pid != pid);
}

int32_t ProcessTable::OuterPid(const Process& process) const {
  if (process.writer_pid == 0 || process.writer_pid == process.pid ||
      only_.Find(KeyOf(process.machine, process.writer_pid)) == kSeveral) {
    return 0;
  }
  return process.writer_pid;
}

int64_t ProcessTable::OuterTid(const Thread& thread, uint32_t process) const {
  if (process == kNone)
    return 0;
  const int32_t outer_pid = OuterPid(processes_[process]);
  if (outer_pid == 0)
    return 0;
  if (thread.tid == thread.pid)
    return outer_pid;
  const auto known = outer_tids_.find(
      {KeyOf(processes_[process].machine, outer_pid), thread.tid});
  return known != outer_tids_.end() ? known->second : 0;
}

uint64_t ProcessTable::WriterKey(int32_t pid, const PacketWriter& writer) {
  return MixOf(KeyOf(writer.machine, writer.pid), static_cast<uint32_t>(pid));
}

uint32_t ProcessTable::FindOwn(int32_t pid, const PacketWriter& writer) const {
  if (writer.sequence != 0) {
    const uint32_t known = of_sequences_.Find(KeyOf(writer.sequence, pid));
    if (known != kNone)
      return known;
  }
  return writer.is_known() ? of_writers_.Find(WriterKey(pid, writer)) : kNone;
}

uint32_t ProcessTable::Find(int32_t pid,
                            const PacketWriter& writer,
                            bool is_own) const {
  const uint32_t own = FindOwn(pid, writer);
  if (own != kNone)
    return own;
  const uint32_t last = FindLast(pid, writer.machine);
  if (last == kNone || !is_own || writer.pid == 0)
    return last;
  const int32_t last_writer = processes_[last].writer_pid;
  return last_writer == 0 || last_writer == writer.pid ? last : kNone;
}

void ProcessTable::Own(uint32_t process,
                       int32_t pid,
                       const PacketWriter& writer) {
  if (writer.sequence != 0)
    of_sequences_.Set(KeyOf(writer.sequence, pid), process);
  if (!writer.is_known())
    return;
  of_writers_.Set(WriterKey(pid, writer), process);
  const uint64_t key = KeyOf(writer.machine, writer.pid);
  if (only_.Insert(key, process) != process)
    only_.Set(key, kSeveral);
  if (processes_[process].writer_pid == 0)
    processes_[process].writer_pid = writer.pid;
}

uint32_t ProcessTable::ProcessOf(int32_t pid,
                                 const PacketWriter& writer,
                                 bool is_own) {
  const uint32_t known = Find(pid, writer, is_own);
  const uint32_t index = known != kNone ? known : NewProcess(pid, writer);
  if (is_own)
    Own(index, pid, writer);
  return index;
}

uint32_t ProcessTable::ProcessOfNewTrack(int32_t pid,
                                         const PacketWriter& writer) {
  const uint32_t known = Find(pid, writer, /*is_own=*/true);
  const bool is_free = known != kNone && (processes_[known].uuid == 0 ||
                                          processes_[known].has_made_track);
  return is_free ? known : NewProcess(pid, writer);
}

void ProcessTable::SetDescribed(uint32_t index,
                                int32_t pid,
                                const PacketWriter& writer) {
  Own(index, pid, writer);
  Process& described = processes_[index];
  if (std::exchange(described.pid, pid) == pid)
    return;
  last_.Set(KeyOf(described.machine, pid), index);
  ShareId(index);
}

uint32_t ProcessTable::NewProcess(int32_t pid, const PacketWriter& writer) {
  const auto index = static_cast<uint32_t>(processes_.size());
  Process& added = processes_.emplace_back();
  added.pid = pid;
  added.machine = writer.machine;
  last_.Set(KeyOf(writer.machine, pid), index);
  ShareId(index);
  return index;
}

uint32_t ProcessTable::ThreadOf(uint32_t process, int32_t pid, int64_t tid) {
  const uint32_t known =
      last_threads_.Find(MixOf(process, static_cast<uint64_t>(tid)));
  return known != kNone ? known : NewThread(process, pid, tid);
}

uint32_t ProcessTable::ThreadOfNewTrack(uint32_t process,
                                        int32_t pid,
                                        int64_t tid) {
  const uint32_t known = ThreadOf(process, pid, tid);
  const bool is_free =
      threads_[known].uuid == 0 || threads_[known].has_made_track;
  return is_free ? known : NewThread(process, pid, tid);
}

uint32_t ProcessTable::NewThread(uint32_t process, int32_t pid, int64_t tid) {
  const auto index = static_cast<uint32_t>(threads_.size());
  Thread& added = threads_.emplace_back();
  added.process = process;
  added.pid = pid;
  added.tid = tid;
  const uint64_t key = MixOf(process, static_cast<uint64_t>(tid));
  const uint32_t last = last_threads_.Insert(key, index);
  if (last != index) {
    last_threads_.Set(key, index);
    NumberThread(last);
    NumberThread(index);
  }
  return index;
}

void ProcessTable::NameProcess(uint32_t process, std::string_view name) {
  if (name.empty())
    return;
  Process& named = processes_[process];
  const StringId id = texts_->Intern(name);
  if (std::exchange(named.name, id) != id && named.shares_id)
    NumberProcess(process);
}

void ProcessTable::NameThread(uint32_t thread,
                              std::string_view name,
                              bool is_own) {
  Thread& named = threads_[thread];
  if (name.empty() || (named.is_named_by_itself && !is_own))
    return;
  named.is_named_by_itself = is_own;
  const StringId id = texts_->Intern(name);
  if (std::exchange(named.name, id) != id && named.shares_id)
    NumberThread(thread);
}

void ProcessTable::ShareId(uint32_t process) {
  const auto pid = static_cast<uint32_t>(processes_[process].pid);
  const uint32_t first = first_.Insert(pid, process);
  if (first == process)
    return;
  NumberProcess(first);
  NumberProcess(process);
}

void ProcessTable::NumberProcess(uint32_t index) {
  Process& numbered = processes_[index];
  numbered.shares_id = true;
  numbered.ordinal = OrdinalOf(MixOf(static_cast<uint32_t>(numbered.pid), 1),
                               numbered.name, index);
}

void ProcessTable::NumberThread(uint32_t index) {
  Thread& numbered = threads_[index];
  numbered.shares_id = true;
  numbered.ordinal = OrdinalOf(
      MixOf(MixOf(numbered.process, static_cast<uint64_t>(numbered.tid)), 2),
      numbered.name, index);
}

uint32_t ProcessTable::OrdinalOf(uint64_t id, StringId name, uint32_t owner) {
  const uint64_t key = MixOf(id, name);
  const uint64_t own_key = MixOf(key, owner);
  // A process that gets an earlier name back has its earlier number, too.
  const uint32_t known = ordinals_.Find(own_key);
  if (known != IdMap::kNone)
    return known;
  const uint32_t last = num_ordinals_.Find(key);
  const uint32_t ordinal = last == IdMap::kNone ? 1 : last + 1;
  num_ordinals_.Set(key, ordinal);
  return ordinals_.Insert(own_key, ordinal);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
