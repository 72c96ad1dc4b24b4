// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/simulated_calls.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <chrono>

// The linker has been told to call __wrap_f() instead of f(), and f() instead
// of __real_f(). BUILD.gn names the same functions.

using protozero::test::SystemCalls;

namespace {

SystemCalls* g_calls = nullptr;

}  // namespace

extern "C" {

int __real_close(int fd);
int __real_connect(int fd, const sockaddr* address, socklen_t size);
int __real_clock_gettime(clockid_t id, timespec* time);
int __real_getsockopt(int fd,
                      int level,
                      int name,
                      void* value,
                      socklen_t* size);
void* __real_mmap(void* address,
                  size_t size,
                  int protection,
                  int flags,
                  int fd,
                  off_t offset);
int __real_munmap(void* address, size_t size);
int __real_nanosleep(const timespec* time, timespec* rest);
int __real_poll(pollfd* fds, nfds_t count, int timeout_ms);
ssize_t __real_recvmsg(int fd, msghdr* message, int flags);
int __real_sched_yield();
ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
ssize_t __real_write(int fd, const void* data, size_t size);

int __wrap_close(int fd);
int __wrap_close(int fd) {
  if (g_calls != nullptr)
    g_calls->OnClosed(fd);
  return __real_close(fd);
}

int __wrap_connect(int fd, const sockaddr* address, socklen_t size);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  return g_calls != nullptr ? g_calls->Connect(fd, address, size)
                            : __real_connect(fd, address, size);
}

int __wrap_clock_gettime(clockid_t id, timespec* time);
int __wrap_clock_gettime(clockid_t id, timespec* time) {
  if (g_calls == nullptr)
    return __real_clock_gettime(id, time);
  const int64_t ns = g_calls->ClockNs();
  time->tv_sec = static_cast<time_t>(ns / 1000000000);
  time->tv_nsec = static_cast<long>(ns % 1000000000);
  return 0;
}

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
  const int result = __real_getsockopt(fd, level, name, value, size);
  if (g_calls != nullptr && level == SOL_SOCKET && name == SO_PEERCRED) {
    ucred* const credentials = static_cast<ucred*>(value);
    if (!g_calls->GetPeer(&credentials->uid, &credentials->pid))
      return -1;
  }
  return result;
}

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
  void* const memory =
      __real_mmap(address, size, protection, flags, fd, offset);
  if (g_calls != nullptr && memory != MAP_FAILED && (flags & MAP_SHARED) != 0)
    g_calls->OnMapped(memory, size);
  return memory;
}

int __wrap_munmap(void* address, size_t size);
int __wrap_munmap(void* address, size_t size) {
  if (g_calls != nullptr)
    g_calls->OnUnmapped(address);
  return __real_munmap(address, size);
}

int __wrap_nanosleep(const timespec* time, timespec* rest);
int __wrap_nanosleep(const timespec* time, timespec* rest) {
  if (g_calls == nullptr)
    return __real_nanosleep(time, rest);
  g_calls->Sleep(time->tv_sec * int64_t{1000000000} + time->tv_nsec);
  return 0;
}

int __wrap_poll(pollfd* fds, nfds_t count, int timeout_ms);
int __wrap_poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return g_calls != nullptr ? g_calls->Poll(fds, count, timeout_ms)
                            : __real_poll(fds, count, timeout_ms);
}

ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags);
ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  return g_calls != nullptr ? g_calls->Receive(fd, message, flags)
                            : __real_recvmsg(fd, message, flags);
}

int __wrap_sched_yield();
int __wrap_sched_yield() {
  if (g_calls == nullptr)
    return __real_sched_yield();
  g_calls->Sleep(0);
  return 0;
}

ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags);
ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  return g_calls != nullptr ? g_calls->Send(fd, message, flags)
                            : __real_sendmsg(fd, message, flags);
}

ssize_t __wrap_write(int fd, const void* data, size_t size);
ssize_t __wrap_write(int fd, const void* data, size_t size) {
  return g_calls != nullptr ? g_calls->Write(fd, data, size)
                            : __real_write(fd, data, size);
}

}  // extern "C"

namespace protozero::test {

// The same for the functions of the C++ library, by their names in libstdc++.
// With another library, code reads the real clock.

using SteadyClock = std::chrono::steady_clock;
using SystemClock = std::chrono::system_clock;

SteadyClock::time_point RealSteadyNow() __asm__(
    "__real__ZNSt6chrono3_V212steady_clock3nowEv");
SteadyClock::time_point SteadyNow() __asm__(
    "__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
SystemClock::time_point RealSystemNow() __asm__(
    "__real__ZNSt6chrono3_V212system_clock3nowEv");
SystemClock::time_point SystemNow() __asm__(
    "__wrap__ZNSt6chrono3_V212system_clock3nowEv");

SteadyClock::time_point SteadyNow() {
  return g_calls == nullptr ? RealSteadyNow()
                            : SteadyClock::time_point(
                                  std::chrono::nanoseconds(g_calls->ClockNs()));
}

SystemClock::time_point SystemNow() {
  return g_calls == nullptr ? RealSystemNow()
                            : SystemClock::time_point(
                                  std::chrono::nanoseconds(g_calls->ClockNs()));
}

void SystemCalls::Set(SystemCalls* calls) {
  g_calls = calls;
}

int SystemCalls::RealConnect(int fd, const sockaddr* address, socklen_t size) {
  return __real_connect(fd, address, size);
}

int SystemCalls::RealPoll(pollfd* fds, nfds_t count, int timeout_ms) {
  return __real_poll(fds, count, timeout_ms);
}

ssize_t SystemCalls::RealReceive(int fd, msghdr* message, int flags) {
  return __real_recvmsg(fd, message, flags);
}

ssize_t SystemCalls::RealSend(int fd, const msghdr* message, int flags) {
  return __real_sendmsg(fd, message, flags);
}

ssize_t SystemCalls::RealWrite(int fd, const void* data, size_t size) {
  return __real_write(fd, data, size);
}

}  // namespace protozero::test
