// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/code_maps.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The limits of what programs can make the recorder remember. A program that
// maps more code than that has addresses without names.
constexpr size_t kMaxMapsOfProcess = 16384;
constexpr size_t kMaxFiles = 16384;
// The limit of descriptors.
constexpr size_t kMaxKept = 64;

std::string ReadVdsoId() {
  const ScopedFd file(OpenVdso());
  return file.get_unchecked() < 0
             ? ""
             : ReadElfFile("/proc/self/fd/" +
                           std::to_string(file.get_unchecked()))
                   .build_id;
}

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
    const auto [file, is_new] = files_.try_emplace(
        {map.path, map.build_id.empty() ? map.file_id : map.build_id},
        ElfFile());
    if (is_new) {
      std::string place = FileOf(pid, map);
      file->second = ReadElfFile(place);
      // Another file has its path by now.
      if (!map.build_id.empty() && file->second.build_id != map.build_id) {
        map.is_deleted = true;
        place = FileOf(pid, map);
        file->second = ReadElfFile(place);
        if (file->second.build_id != map.build_id)
          file->second = ElfFile();
      }
      Keep(map.path, file->second.build_id, place);
    }
    map.bias = file->second.BiasAt(map.file_offset);
    if (map.build_id.empty())
      map.build_id = file->second.build_id;
    // The next process with this file may still have it.
    if (file->second.segments.empty())
      files_.erase(file);
  } else if (map.path == kVdso) {
    // All processes have the same, and each kernel another one.
    if (vdso_id_.empty())
      vdso_id_ = ReadVdsoId();
    map.build_id = vdso_id_;
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

void CodeMaps::Keep(const std::string& path,
                    const std::string& build_id,
                    const std::string& place) {
  if (!keeps_files_ || build_id.empty() || kept_.size() >= kMaxKept)
    return;
  ScopedFd file(open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  // Leaves descriptors for what is more important.
  if (file.is_valid() &&
      static_cast<rlim_t>(file.get_unchecked()) < limit.rlim_cur / 4)
    kept_.emplace(std::pair(path, build_id), std::move(file));
}

std::string CodeMaps::KeptFile(const std::string& path,
                               const std::string& build_id) const {
  const auto file = kept_.find({path, build_id});
  return file == kept_.end()
             ? ""
             : "/proc/self/fd/" + std::to_string(file->second.get());
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
