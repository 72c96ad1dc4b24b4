// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_PROCESS_FILES_H_
#define SRC_TRACING_SCHEDULING_PROCESS_FILES_H_

#include <stdint.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Facts about processes from /proc. A process may end at any time; then texts
// and lists are empty, and numbers are 0.

// Returns the ids of the process's threads.
std::vector<int32_t> ThreadsOf(int32_t pid);
// Returns the name of a thread.
std::string ThreadName(int32_t pid, int32_t tid);
// Returns the words of the process's command, with a space between them.
std::string CommandLineOf(int32_t pid);
// Returns the ids of a thread in the PID namespaces below this one, of which
// each container has one, the innermost last. Empty if the thread is in none.
std::vector<int32_t> NamespaceIdsOf(int32_t pid, int32_t tid);
// Returns the id of the process's parent.
int32_t ParentOf(int32_t pid);
// Returns the letter of the state in which a thread is, such as 'R' or 'S', or
// 0; and the processor that it has run on last.
char ThreadState(int32_t pid, int32_t tid, uint32_t* cpu);
// Returns the effective user of a process.
uid_t UserOf(int32_t pid);
// Returns whether a thread blocks a signal.
bool BlocksSignal(int32_t pid, int32_t tid, int signal);
// Returns the end of the main thread's stack.
uintptr_t StackEndOf(int32_t pid);
// Returns whether there is such a thread.
bool ThreadExists(int32_t pid, int32_t tid);

// A piece of a file, or of memory without one, whose code a process can run.
struct CodeMap {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  std::string path;
  // The bytes of the file's build id, if the kernel has told it.
  std::string build_id;
  // The device and inode of the file, if /proc has told them: another file may
  // have the path in a container, or later.
  std::string file_id = {};
  bool is_deleted = false;  // True if /proc says that it has no path any more.
};
std::vector<CodeMap> CodeMapsOf(int32_t pid);
// Returns where the file of a map can be opened while the process lives.
std::string FileOf(int32_t pid, const CodeMap& map);

// The path of the code that the kernel itself maps into each process.
inline constexpr char kVdso[] = "[vdso]";
// Returns a descriptor of a file with that code, or -1.
int OpenVdso();

// Returns how many addresses of a stack the kernel finds at most.
uint32_t MaxKernelStackDepth();

// The sums that the kernel keeps of a thread's life, in nanoseconds.
struct ThreadSums {
  uint64_t ran = 0;
  // The time in which it could have run, and other threads did.
  uint64_t was_ready = 0;
};
// Null if the thread has ended.
std::optional<ThreadSums> SumsOf(int32_t pid, int32_t tid);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_PROCESS_FILES_H_
