// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/background_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <initializer_list>
#include <string_view>

#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The name by which copies of the library know each other's threads.
constexpr char kName[] = "protozero";

// Returns whether /proc/self/task/NAME is a thread of the program.
bool IsThreadOfProgram(const char* name) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", name);
  const ScopedFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = fd.is_valid() ? read(fd.get(), text, sizeof(text)) : 0;
  // The thread has ended meanwhile.
  if (size <= 0)
    return false;
  // The line is "1234 (name) state ...". The name may have any characters.
  const std::string_view line(text, static_cast<size_t>(size));
  const size_t begin = line.find('(');
  const size_t end = line.rfind(") ");
  if (begin >= end || end + 2 >= line.size())
    return true;
  const char state = line[end + 2];
  return state != 'Z' && state != 'X' &&
         line.substr(begin + 1, end - begin - 1) != kName;
}

// Blocks signals in this thread, and so in the threads that it starts
// meanwhile. If those blocked them themselves, they could get one before that.
class ScopedBlockedSignals {
 public:
  ScopedBlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal :
         {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP}) {
      sigdelset(&blocked, signal);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~ScopedBlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  ScopedBlockedSignals(const ScopedBlockedSignals&) = delete;
  ScopedBlockedSignals& operator=(const ScopedBlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

int BackgroundThread::StartFunction(void* (*function)(void*), void* argument) {
  const ScopedBlockedSignals blocked;
  // If an allocation in pthread_create() fails, glibc ends the program unless
  // errno says so, which a malloc() of the program's own may forget.
  errno = ENOMEM;
  const int error = pthread_create(&thread_, nullptr, function, argument);
  is_started_ = error == 0;
  return error;
}

void BackgroundThread::SetName() {
  prctl(PR_SET_NAME, kName);
}

void BackgroundThread::Join() {
  const NoCancellation no_cancellation;
  pthread_join(thread_, nullptr);
  is_started_ = false;
}

void BackgroundThread::Detach() {
  pthread_detach(thread_);
  is_started_ = false;
}

bool MainThreadRuns() {
  char name[16];
  snprintf(name, sizeof(name), "%d", getpid());
  return IsThreadOfProgram(name);
}

bool OnlyBackgroundThreadsAreLeft() {
  DIR* const threads = opendir("/proc/self/task");
  if (threads == nullptr)
    return false;
  bool are_left = true;
  const dirent* entry;
  while (are_left && (entry = readdir(threads)) != nullptr)
    are_left = entry->d_name[0] == '.' || !IsThreadOfProgram(entry->d_name);
  closedir(threads);
  return are_left;
}

PROTOZERO_ABI_END
}  // namespace protozero
