// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_SERVICE_HOST_H_
#define INCLUDE_PROTOZERO_TRACING_SERVICE_HOST_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>

#include "protozero/tracing/tracing_service.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Lets producers of other processes connect to a TracingService, by a Unix
// socket and Perfetto's protocol, and does what the service has to do from time
// to time:
//
//   TracingService service;
//   ServiceHost host(&service, ServiceHost::Options());
//   std::string error;
//   if (!host.Listen(&error))
//     ...
//   TracingSessionID session = service.StartTracing(config, nullptr, &error);
//   while (service.GetState(session) != TracingService::kStopped)
//     host.RunOnce(UINT32_MAX);
//
// A producer is who the kernel says it is. Whatever a producer sends, or does
// not send, or does not read, concerns its own connection only, which takes a
// limited amount of memory, and a limited share of each turn. Those that are
// connected are served before others are let in, a few in each turn.
//
// When there is no place left, or no file descriptor, the user with the most
// connections gives up one to a user who has fewer, and among a user's
// processes it is the same. It is the last one to come, first of those that
// have not said who they are.
//
// A connection that there is no memory for ends, and no other one does: from
// Listen() on, nothing here throws std::bad_alloc.
//
// One thread runs the host; Stop() and Wakeup() may be called by any.
class ServiceHost {
 public:
  struct Options {
    // A path, or '@' and a name in the abstract namespace. If empty, as
    // Producer::Options::socket. Nothing but the permissions of the file and of
    // its folder keeps producers away.
    std::string socket;
    // Further ones are closed at once, unless others have to make room. Those
    // of processes whose id is not known here, for they are outside of this
    // process's namespace, count as one process's.
    size_t max_connections = 1024;
    size_t max_connections_per_user = 768;
    size_t max_connections_per_process = 64;
    // How long a connection may take to say who it is.
    uint32_t introduction_timeout_ms = 10000;
    // What is kept for a producer that does not read. If it is more, the
    // producer is disconnected.
    size_t max_queued_bytes = 512 * 1024;
  };

  // REQUIRES: |service| outlives it.
  ServiceHost(TracingService* service, Options options);
  // Disconnects the producers and removes the socket.
  ~ServiceHost();

  ServiceHost(const ServiceHost&) = delete;
  ServiceHost& operator=(const ServiceHost&) = delete;

  // From now on, producers can connect. Replaces a socket that nobody listens
  // to any more. Returns false, and says why, if it can not be had.
  bool Listen(std::string* error);
  // Its path or name.
  const std::string& socket() const;

  // Waits until something happens, until the service has something to do, or
  // until |timeout_ms| have passed (UINT32_MAX for no limit), and does what
  // there is to do.
  void RunOnce(uint32_t timeout_ms);
  // Goes on with that until Stop(), which also makes a later Run() return.
  void Run();
  void Stop();
  // Makes RunOnce() return soon. To be called after another thread has called a
  // function of the service that may have set a time limit, as StartTracing().
  // Safe in signal handlers, as is Stop().
  void Wakeup();

  size_t num_connections() const;
  // Why producers that want to connect wait in vain at the moment, as an errno;
  // 0 if none does. EMFILE, for example: there is no descriptor for one, and
  // nobody has so many connections that one has to make room.
  int accept_error() const;
  // How many connections have been closed because there were too many.
  uint64_t num_refused() const;
  // How many connections have ended because there was no memory for them, or
  // for what they asked.
  uint64_t num_out_of_memory() const;

 private:
  class Connection;
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SERVICE_HOST_H_
