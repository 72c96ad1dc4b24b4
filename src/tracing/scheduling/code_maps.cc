// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/code_maps.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The limits of what programs can make the recorder remember. A program that
// maps more code than that has addresses without names.
constexpr size_t kMaxMapsOfProcess = 16384;
constexpr size_t kMaxFiles = 16384;

}  // namespace

void CodeMaps::AddProcess(int32_t pid) {
  for (const CodeMap& map : CodeMapsOf(pid))
    Insert(pid, map);
}

void CodeMaps::Add(const KernelRecord& record) {
  switch (record.kind) {
    case KernelRecord::Kind::kMap:
      Insert(record.subject_pid,
             {record.address, record.size, record.file_offset, record.text,
              record.build_id});
      return;
    case KernelRecord::Kind::kExec:
      processes_.erase(record.subject_pid);
      return;
    case KernelRecord::Kind::kFork: {
      const auto parent = processes_.find(record.pid);
      if (record.subject_pid != record.pid && parent != processes_.end()) {
        Maps maps = parent->second;
        processes_[record.subject_pid] = std::move(maps);
      }
      return;
    }
    default:
      return;
  }
}

void CodeMaps::Insert(int32_t pid, CodeMap added) {
  Maps& maps = processes_[pid];
  if (added.size == 0 || added.address + added.size < added.address ||
      maps.size() >= kMaxMapsOfProcess) {
    return;
  }
  Map map;
  static_cast<CodeMap&>(map) = std::move(added);
  if (!map.path.empty() && map.path[0] == '/' && !map.is_made_at_run_time() &&
      files_.size() < kMaxFiles) {
    const auto [file, is_new] =
        files_.try_emplace({map.path, map.build_id}, ElfFile());
    if (is_new) {
      file->second =
          ReadElfFile("/proc/" + std::to_string(pid) + "/root" + map.path);
    }
    map.bias = file->second.BiasAt(map.file_offset);
    if (map.build_id.empty())
      map.build_id = file->second.build_id;
  }
  // Maps that were there before are gone.
  auto it = maps.lower_bound(map.address);
  if (it != maps.begin() &&
      std::prev(it)->second.size > map.address - std::prev(it)->first) {
    --it;
  }
  while (it != maps.end() && it->first < map.address + map.size)
    it = maps.erase(it);
  maps.emplace(map.address, std::move(map));
}

const CodeMaps::Map* CodeMaps::Find(int32_t pid, uint64_t address) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end())
    return nullptr;
  auto it = process->second.upper_bound(address);
  if (it == process->second.begin())
    return nullptr;
  --it;
  return address - it->first < it->second.size ? &it->second : nullptr;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
