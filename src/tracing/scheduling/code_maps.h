// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_CODE_MAPS_H_
#define SRC_TRACING_SCHEDULING_CODE_MAPS_H_

#include <stdint.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/tracing/ipc/scoped_fd.h"
#include "src/tracing/scheduling/elf_file.h"
#include "src/tracing/scheduling/kernel_record.h"
#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The code that processes have mapped, by address.
class CodeMaps {
 public:
  // A map, and the difference between the addresses of its file's symbols and
  // offsets in the file.
  struct Map : CodeMap {
    uint64_t bias = 0;
    // True if there is no file: a program has written the code when it ran.
    bool is_made_at_run_time() const {
      return path.empty() || path.compare(0, 2, "//") == 0 ||
             path.compare(0, 5, "[anon") == 0 ||
             path.compare(0, 7, "/memfd:") == 0;
    }
  };

  // With |keeps_files|, files stay open: one may be gone when its symbols are
  // looked for, or belong to a container.
  explicit CodeMaps(bool keeps_files = false) : keeps_files_(keeps_files) {}

  // Reads what the process has mapped so far.
  void AddProcess(int32_t pid);
  // Follows mmap(), fork() and exec().
  void Add(const KernelRecord& record);
  void Remove(int32_t pid) { processes_.erase(pid); }
  // Returns null if there is nothing known at the address.
  const Map* Find(int32_t pid, uint64_t address) const;
  // Returns whether |is_wanted| for any map of the process.
  template <typename IsWanted>
  bool HasMap(int32_t pid, IsWanted is_wanted) const {
    const auto process = processes_.find(pid);
    return process != processes_.end() &&
           std::any_of(
               process->second.begin(), process->second.end(),
               [&](const auto& entry) { return is_wanted(entry.second); });
  }
  // Returns where a file is open; empty if it is not kept.
  std::string KeptFile(const std::string& path,
                       const std::string& build_id) const;

 private:
  using Maps = std::map<uint64_t, Map>;

  void Insert(int32_t pid, CodeMap map);
  // Keeps the file at |place| open, which its process finds at |path|.
  void Keep(const std::string& path,
            const std::string& build_id,
            const std::string& place);

  const bool keeps_files_;
  std::unordered_map<int32_t, Maps> processes_;
  // The files by path and by the build id that the kernel has told, or by what
  // else it says which file it is.
  std::map<std::pair<std::string, std::string>, ElfFile> files_;
  std::string vdso_id_;
  std::map<std::pair<std::string, std::string>, ScopedFd> kept_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_CODE_MAPS_H_
