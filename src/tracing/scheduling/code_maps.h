// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_CODE_MAPS_H_
#define SRC_TRACING_SCHEDULING_CODE_MAPS_H_

#include <stdint.h>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

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

  // Reads what the process has mapped so far.
  void AddProcess(int32_t pid);
  // Follows mmap(), fork() and exec().
  void Add(const KernelRecord& record);
  void Remove(int32_t pid) { processes_.erase(pid); }
  // Returns null if there is nothing known at the address.
  const Map* Find(int32_t pid, uint64_t address) const;

 private:
  using Maps = std::map<uint64_t, Map>;

  void Insert(int32_t pid, CodeMap map);

  std::unordered_map<int32_t, Maps> processes_;
  // The files by path and by the build id that the kernel has told.
  std::map<std::pair<std::string, std::string>, ElfFile> files_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_CODE_MAPS_H_
