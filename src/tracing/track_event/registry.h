// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_REGISTRY_H_
#define SRC_TRACING_TRACK_EVENT_REGISTRY_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string_view>

#include "protozero/tracing/internal/trace_sequence.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The state that the sessions and the call sites of this process share. All of
// it is static, and the compiler initializes it: events may be traced before
// main() and after it.

// Strings of one kind, which are literals, and their ids, from 1. It does not
// use the heap, because a signal handler may be the first to reach a call site.
// REQUIRES: a RegistryLock.
class StringTable {
 public:
  // Returns the text's id; 0 if there are too many.
  uint16_t Intern(const char* text);

  // Return the texts of ids 1 to size(). They need no lock.
  uint16_t size() const { return num_.load(std::memory_order_acquire); }
  const char* text(uint16_t id) const { return texts_[id - 1]; }

 private:
  static constexpr size_t kNumSlots = 2 * kMaxInterned;
  const char* texts_[kMaxInterned] = {};
  // The text's id, or 0, by a hash of the text.
  uint16_t slots_[kNumSlots] = {};
  std::atomic<uint16_t> num_{0};
};

// The lock of the registry. A signal handler that has interrupted its holder
// does not get it.
class RegistryLock {
 public:
  RegistryLock();
  ~RegistryLock();
  RegistryLock(const RegistryLock&) = delete;
  RegistryLock& operator=(const RegistryLock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  const bool is_held_;
};

// Gives ids to the site's keys. Returns false if one of them has none.
bool InternKeys(TraceSite* site, const char* const* keys, size_t num_keys);

// Return the texts of a registered site; nothing for those that it does not
// have.
std::string_view CategoryOf(const TraceSite& site);
std::string_view NameOf(const TraceSite& site);

// Has a function called whenever the sites have been told which sessions want
// them. REQUIRES: a RegistryLock, which that call has, too.
void CallAfterUpdates(void (*function)());

// Returns the name that events refer to by that id; nothing if it is 0.
std::string_view NameOfSite(uint16_t name_iid);

// Counts the events that threads lost because they had no memory to begin with.
uint64_t NumEventsWithoutMemory();
void CountEventWithoutMemory();

// Resets the threads after fork().
void ResetThreadsAfterFork();
// Returns the id, in the parent, of the thread that has called fork(); 0 if
// fork() did not make this process.
uint64_t ForkedThreadId();
// Returns the system's id of this process. Makes a system call only the first
// time.
int32_t ProcessId();
// Returns the name of the process, from |thread|'s copy. Takes a lock and calls
// the system only if the name is new to the thread.
std::string_view TraceProcessName(TraceThread* thread);
// Reads the system's name of |thread|, the calling one. The system cuts names
// at 15 bytes, perhaps within a character, which is left out.
void ReadSystemThreadName(TraceThread* thread);
// Returns the number of the calling thread's own track.
uint64_t ThreadUuid();
// Returns the system's id of the calling thread. Makes a system call only for a
// thread that has not traced yet.
int64_t TraceThreadId();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_REGISTRY_H_
