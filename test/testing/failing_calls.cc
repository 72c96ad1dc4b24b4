// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/failing_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

// The linker has been told to call __wrap_f() instead of f(), and f() instead
// of __real_f(). BUILD.gn names the same functions.

namespace protozero::test {

namespace {

enum Call {
  kAccept4,
  kBind,
  kConnect,
  kFcntl,
  kFopen,
  kFstat,
  kFtruncate,
  kGetsockopt,
  kListen,
  kLstat,
  kMemfdCreate,
  kMkdir,
  kMmap,
  kOpen,
  kOpendir,
  kPoll,
  kPosixSpawnp,
  kPthreadAtfork,
  kPthreadCreate,
  kRecvmsg,
  kSendmsg,
  kSocket,
  kSocketpair,
  kSyscall,
  kWrite,
  kNumCalls,
};

struct CallInfo {
  const char* name;
  int usual_error;
};

constexpr CallInfo kCalls[kNumCalls] = {
    {"accept4", EMFILE},        {"bind", EACCES},
    {"connect", ECONNREFUSED},  {"fcntl", EMFILE},
    {"fopen", EMFILE},          {"fstat", ENOMEM},
    {"ftruncate", EFBIG},       {"getsockopt", ENOBUFS},
    {"listen", EADDRINUSE},     {"lstat", ENOMEM},
    {"memfd_create", ENOSYS},   {"mkdir", ENOSPC},
    {"mmap", ENOMEM},           {"open", EMFILE},
    {"opendir", EMFILE},        {"poll", ENOMEM},
    {"posix_spawnp", EAGAIN},   {"pthread_atfork", ENOMEM},
    {"pthread_create", EAGAIN}, {"recvmsg", ENOMEM},
    {"sendmsg", ENOBUFS},       {"socket", EMFILE},
    {"socketpair", EMFILE},     {"syscall", EPERM},
    {"write", ENOSPC},
};

// The errors that CallsFail sets.
std::atomic<int> g_errors[kNumCalls];

// The state of NthCallFails.
std::atomic<bool> g_is_counting{false};
std::atomic<uint64_t> g_count{0};
std::atomic<uint64_t> g_first{0};
std::atomic<uint64_t> g_last{0};
std::atomic<bool> g_counts_only_allocations{false};

thread_local bool t_is_under_test = false;

bool FailsByNumber() {
  if (!t_is_under_test || !g_is_counting)
    return false;
  const uint64_t number = ++g_count;
  return number >= g_first && number <= g_last;
}

// Returns whether the call fails now, and sets errno then.
bool Fails(Call call) {
  int error = g_errors[call];
  if (error == 0 && !g_counts_only_allocations && FailsByNumber())
    error = kCalls[call].usual_error;
  if (error != 0)
    errno = error;
  return error != 0;
}

int IndexOf(const char* name) {
  for (int i = 0; i < kNumCalls; ++i) {
    if (strcmp(kCalls[i].name, name) == 0)
      return i;
  }
  abort();
}

struct ThreadStart {
  void* (*function)(void*);
  void* argument;
};

void* RunUnderTest(void* start) {
  const ThreadStart copy = *static_cast<ThreadStart*>(start);
  free(start);
  t_is_under_test = true;
  return copy.function(copy.argument);
}

}  // namespace

CallsFail::CallsFail(const char* name, int error) : index_(IndexOf(name)) {
  g_errors[index_] = error;
}

CallsFail::~CallsFail() {
  g_errors[index_] = 0;
}

NthCallFails::NthCallFails(uint64_t first, Which which) {
  g_count = 0;
  g_first = first;
  g_last = which == kOnce ? first : UINT64_MAX;
  g_counts_only_allocations = which == kAllocationsFromThenOn;
  g_is_counting = true;
}

NthCallFails::~NthCallFails() {
  g_is_counting = false;
}

uint64_t NthCallFails::count() const {
  return g_count;
}

void NthCallFails::Stop() {
  g_is_counting = false;
}

CodeUnderTest::CodeUnderTest() {
  t_is_under_test = true;
}

CodeUnderTest::~CodeUnderTest() {
  t_is_under_test = false;
}

bool internal::AllocationFails() {
  return FailsByNumber();
}

extern "C" {

int __real_accept4(int fd, sockaddr* address, socklen_t* size, int flags);
int __wrap_accept4(int fd, sockaddr* address, socklen_t* size, int flags);
int __wrap_accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  return Fails(kAccept4) ? -1 : __real_accept4(fd, address, size, flags);
}

int __real_bind(int fd, const sockaddr* address, socklen_t size);
int __wrap_bind(int fd, const sockaddr* address, socklen_t size);
int __wrap_bind(int fd, const sockaddr* address, socklen_t size) {
  return Fails(kBind) ? -1 : __real_bind(fd, address, size);
}

int __real_connect(int fd, const sockaddr* address, socklen_t size);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  return Fails(kConnect) ? -1 : __real_connect(fd, address, size);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  if (Fails(kFcntl))
    return -1;
  // The argument may be a number or a pointer; both fit into this.
  va_list args;
  va_start(args, command);
  void* const arg = va_arg(args, void*);
  va_end(args);
  return __real_fcntl(fd, command, arg);
}

FILE* __real_fopen(const char* path, const char* mode);
FILE* __wrap_fopen(const char* path, const char* mode);
FILE* __wrap_fopen(const char* path, const char* mode) {
  return Fails(kFopen) ? nullptr : __real_fopen(path, mode);
}

int __real_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status) {
  // Only by its name: the library checks descriptors before each use, and takes
  // a failure for a success. To give a number to each would only take time.
  const int error = g_errors[kFstat];
  if (error == 0)
    return __real_fstat(fd, status);
  errno = error;
  return -1;
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size) {
  return Fails(kFtruncate) ? -1 : __real_ftruncate(fd, size);
}

int __real_getsockopt(int fd,
                      int level,
                      int name,
                      void* value,
                      socklen_t* size);
int __wrap_getsockopt(int fd,
                      int level,
                      int name,
                      void* value,
                      socklen_t* size);
int __wrap_getsockopt(int fd,
                      int level,
                      int name,
                      void* value,
                      socklen_t* size) {
  return Fails(kGetsockopt) ? -1
                            : __real_getsockopt(fd, level, name, value, size);
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog) {
  return Fails(kListen) ? -1 : __real_listen(fd, backlog);
}

int __real_lstat(const char* path, struct stat* status);
int __wrap_lstat(const char* path, struct stat* status);
int __wrap_lstat(const char* path, struct stat* status) {
  return Fails(kLstat) ? -1 : __real_lstat(path, status);
}

int __real_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags) {
  return Fails(kMemfdCreate) ? -1 : __real_memfd_create(name, flags);
}

int __real_mkdir(const char* path, mode_t mode);
int __wrap_mkdir(const char* path, mode_t mode);
int __wrap_mkdir(const char* path, mode_t mode) {
  return Fails(kMkdir) ? -1 : __real_mkdir(path, mode);
}

void* __real_mmap(void* address,
                  size_t size,
                  int protection,
                  int flags,
                  int fd,
                  off_t offset);
void* __wrap_mmap(void* address,
                  size_t size,
                  int protection,
                  int flags,
                  int fd,
                  off_t offset);
void* __wrap_mmap(void* address,
                  size_t size,
                  int protection,
                  int flags,
                  int fd,
                  off_t offset) {
  return Fails(kMmap)
             ? MAP_FAILED
             : __real_mmap(address, size, protection, flags, fd, offset);
}

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  if (Fails(kOpen))
    return -1;
  va_list args;
  va_start(args, flags);
  // Without O_CREAT, the argument has no meaning.
  const mode_t mode = va_arg(args, mode_t);
  va_end(args);
  return __real_open(path, flags, mode);
}

DIR* __real_opendir(const char* path);
DIR* __wrap_opendir(const char* path);
DIR* __wrap_opendir(const char* path) {
  return Fails(kOpendir) ? nullptr : __real_opendir(path);
}

int __real_poll(pollfd* fds, nfds_t count, int timeout_ms);
int __wrap_poll(pollfd* fds, nfds_t count, int timeout_ms);
int __wrap_poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return Fails(kPoll) ? -1 : __real_poll(fds, count, timeout_ms);
}

int __real_posix_spawnp(pid_t* pid,
                        const char* file,
                        const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes,
                        char* const argv[],
                        char* const envp[]);
int __wrap_posix_spawnp(pid_t* pid,
                        const char* file,
                        const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes,
                        char* const argv[],
                        char* const envp[]);
int __wrap_posix_spawnp(pid_t* pid,
                        const char* file,
                        const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes,
                        char* const argv[],
                        char* const envp[]) {
  return Fails(kPosixSpawnp)
             ? errno
             : __real_posix_spawnp(pid, file, actions, attributes, argv, envp);
}

int __real_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)());
int __wrap_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)());
int __wrap_pthread_atfork(void (*prepare)(),
                          void (*parent)(),
                          void (*child)()) {
  return Fails(kPthreadAtfork) ? errno
                               : __real_pthread_atfork(prepare, parent, child);
}

int __real_pthread_create(pthread_t* thread,
                          const pthread_attr_t* attributes,
                          void* (*function)(void*),
                          void* argument);
int __wrap_pthread_create(pthread_t* thread,
                          const pthread_attr_t* attributes,
                          void* (*function)(void*),
                          void* argument);
int __wrap_pthread_create(pthread_t* thread,
                          const pthread_attr_t* attributes,
                          void* (*function)(void*),
                          void* argument) {
  if (Fails(kPthreadCreate))
    return errno;
  if (!t_is_under_test)
    return __real_pthread_create(thread, attributes, function, argument);
  auto* const start = static_cast<ThreadStart*>(malloc(sizeof(ThreadStart)));
  *start = {function, argument};
  return __real_pthread_create(thread, attributes, &RunUnderTest, start);
}

ssize_t __real_recvmsg(int fd, msghdr* message, int flags);
ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags);
ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  return Fails(kRecvmsg) ? -1 : __real_recvmsg(fd, message, flags);
}

ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags);
ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  return Fails(kSendmsg) ? -1 : __real_sendmsg(fd, message, flags);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol) {
  return Fails(kSocket) ? -1 : __real_socket(domain, type, protocol);
}

int __real_socketpair(int domain, int type, int protocol, int (&ends)[2]);
int __wrap_socketpair(int domain, int type, int protocol, int (&ends)[2]);
int __wrap_socketpair(int domain, int type, int protocol, int (&ends)[2]) {
  return Fails(kSocketpair) ? -1
                            : __real_socketpair(domain, type, protocol, ends);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  if (Fails(kSyscall))
    return -1;
  va_list args;
  va_start(args, number);
  long values[5];
  for (long& value : values)
    value = va_arg(args, long);
  va_end(args);
  return __real_syscall(number, values[0], values[1], values[2], values[3],
                        values[4]);
}

ssize_t __real_write(int fd, const void* data, size_t size);
ssize_t __wrap_write(int fd, const void* data, size_t size);
ssize_t __wrap_write(int fd, const void* data, size_t size) {
  // A write to a pipe cannot fail for lack of disk space.
  struct stat status;
  const bool is_file =
      __real_fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return is_file && Fails(kWrite) ? -1 : __real_write(fd, data, size);
}

}  // extern "C"

}  // namespace protozero::test
