// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_SIMULATED_CALLS_H_
#define TEST_TRACING_SIMULATED_CALLS_H_

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

namespace protozero::test {

// The calls of the system that a program makes, instead of the system's. In a
// program that links this, the calls of its own objects go through here, but
// not those of shared libraries.
class SystemCalls {
 public:
  virtual int Connect(int fd, const sockaddr* address, socklen_t size) = 0;
  // Tells which process is at the other end of the connection that was accepted
  // last.
  virtual bool GetPeer(uid_t* uid, pid_t* pid) = 0;
  virtual int Poll(pollfd* fds, nfds_t count, int timeout_ms) = 0;
  virtual ssize_t Receive(int fd, msghdr* message, int flags) = 0;
  virtual ssize_t Send(int fd, const msghdr* message, int flags) = 0;
  virtual ssize_t Write(int fd, const void* data, size_t size) = 0;
  virtual void Sleep(int64_t ns) = 0;
  virtual int64_t ClockNs() = 0;
  // Called after memory was shared, before it is unmapped, and before a
  // descriptor is closed.
  virtual void OnMapped(void* address, size_t size) = 0;
  virtual void OnUnmapped(void* address) = 0;
  virtual void OnClosed(int fd) = 0;

  // Sets the object that gets the calls; null for the system.
  static void Set(SystemCalls* calls);

 protected:
  ~SystemCalls() = default;

  // The system's functions.
  static int RealConnect(int fd, const sockaddr* address, socklen_t size);
  static int RealPoll(pollfd* fds, nfds_t count, int timeout_ms);
  static ssize_t RealReceive(int fd, msghdr* message, int flags);
  static ssize_t RealSend(int fd, const msghdr* message, int flags);
  static ssize_t RealWrite(int fd, const void* data, size_t size);
};

}  // namespace protozero::test

#endif  // TEST_TRACING_SIMULATED_CALLS_H_
