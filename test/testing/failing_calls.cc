// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/failing_calls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>

// The linker has been told to call __wrap_f() in place of f(), and to call f()
// where __real_f() is called. BUILD.gn names the same functions.

namespace protozero::test {

namespace {

enum Call {
  kConnect,
  kEventfd,
  kFcntl,
  kFstat,
  kFtruncate,
  kMemfdCreate,
  kMmap,
  kPthreadCreate,
  kRecvmsg,
  kSendmsg,
  kSocket,
  kNumCalls,
};

constexpr const char* kNames[kNumCalls] = {
    "connect",   "eventfd",      "fcntl",  "fstat",
    "ftruncate", "memfd_create", "mmap",   "pthread_create",
    "recvmsg",   "sendmsg",      "socket",
};

std::atomic<int> g_errors[kNumCalls];

// Whether it fails now; says so in errno.
bool Fails(Call call) {
  const int error = g_errors[call].load(std::memory_order_relaxed);
  if (error != 0)
    errno = error;
  return error != 0;
}

int IndexOf(const char* name) {
  for (int i = 0; i < kNumCalls; ++i) {
    if (strcmp(kNames[i], name) == 0)
      return i;
  }
  abort();
}

}  // namespace

CallsFail::CallsFail(const char* name, int error) : index_(IndexOf(name)) {
  g_errors[index_] = error;
}

CallsFail::~CallsFail() {
  g_errors[index_] = 0;
}

extern "C" {

int __real_connect(int fd, const sockaddr* address, socklen_t size);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  return Fails(kConnect) ? -1 : __real_connect(fd, address, size);
}

int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags) {
  return Fails(kEventfd) ? -1 : __real_eventfd(count, flags);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  if (Fails(kFcntl))
    return -1;
  // Whatever it is, it fits.
  va_list args;
  va_start(args, command);
  void* const arg = va_arg(args, void*);
  va_end(args);
  return __real_fcntl(fd, command, arg);
}

int __real_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status) {
  return Fails(kFstat) ? -1 : __real_fstat(fd, status);
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size) {
  return Fails(kFtruncate) ? -1 : __real_ftruncate(fd, size);
}

int __real_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags) {
  return Fails(kMemfdCreate) ? -1 : __real_memfd_create(name, flags);
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
  return Fails(kPthreadCreate)
             ? errno
             : __real_pthread_create(thread, attributes, function, argument);
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

}  // extern "C"

}  // namespace protozero::test
