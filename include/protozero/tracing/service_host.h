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

class FlightSource;
class LocalTrace;

// Lets producers of other processes connect to a TracingService, over a Unix
// socket and with Perfetto's protocol, and has the service do what is due:
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
// The kernel tells who a producer is. Whatever a producer sends, does not send,
// or does not read affects only its own connection, which has a limited amount
// of memory and a limited share of each turn. The host serves its connections
// first, then accepts a few new ones in each turn.
//
// When there is no place left, or no file descriptor, the user with the most
// connections loses one to a user with fewer; the same holds among the
// processes of a user. The host takes a connection that has not been introduced
// yet, if there is one, and the newest of them.
//
// If there is no memory for a connection, that connection ends, and no other
// one. From Listen() on, no function throws std::bad_alloc.
//
// One thread runs the host. Any thread may call Stop() and Wakeup().
class ServiceHost {
 public:
  // The address of a host, and the limits that it sets.
  struct Options {
    // A path, or '@' and a name in the abstract namespace. If empty, the same
    // as for Producer::Options::socket. Only the permissions of the file and of
    // its folder keep producers away.
    std::string socket;
    // The most connections. The host closes further ones at once, unless others
    // have to make room. Processes outside of this process's PID namespace have
    // no id here; they count as one process.
    size_t max_connections = 1024;
    size_t max_connections_per_user = 768;
    size_t max_connections_per_process = 64;
    // The time that a new connection may take until its producer has introduced
    // itself.
    uint32_t introduction_timeout_ms = 10000;
    // The most that the host queues for a producer that does not read. If there
    // is more, it disconnects the producer.
    size_t max_queued_bytes = 512 * 1024;
    // If not null, producers do not share memory with the service, but write to
    // files that survive both: `pztrace record --flight-recorder` uses this.
    // REQUIRES: it outlives the service.
    FlightSource* flight_source = nullptr;
  };

  // REQUIRES: |service| outlives it.
  ServiceHost(TracingService* service, Options options);
  // Disconnects the producers and removes the socket.
  ~ServiceHost();

  ServiceHost(const ServiceHost&) = delete;
  ServiceHost& operator=(const ServiceHost&) = delete;

  // Lets producers connect from now on. Replaces a socket that no process
  // has open any more. Returns false, and says why, if it cannot have the
  // socket. The destructor removes the socket, unless another one is in its
  // place by then.
  bool Listen(std::string* error);
  // Returns the socket's path or name.
  const std::string& socket() const;

  // Waits until something happens, until the service has something to do, or
  // until |timeout_ms| have passed (UINT32_MAX for no limit). Then does what is
  // due. Also returns after a few seconds, to look at its descriptors.
  void RunOnce(uint32_t timeout_ms);
  // Calls RunOnce() until Stop(). A Stop() before Run() makes it return, too.
  void Run();
  void Stop();
  // Makes RunOnce() return soon. Call it after another thread has called a
  // function of the service that may have set a time limit, such as
  // StartTracing(). Safe in signal handlers, as Stop() is.
  void Wakeup();

  // Returns the number of open connections, whether they have said something or
  // not.
  size_t num_connections() const;
  // Returns the reason, an errno, why producers that want to connect have to
  // wait now; 0 if none waits. EMFILE, for example, says that there is no
  // descriptor for one, and no user has so many connections that one has to
  // make room; EBADF, that this program has closed or replaced the socket.
  int accept_error() const;
  // Returns the number of connections that the host closed as too many.
  uint64_t num_refused() const;
  // Returns the number of connections that have ended because there was no
  // memory for them, or for what they asked.
  uint64_t num_out_of_memory() const;

 private:
  friend class LocalTrace;
  class Impl;
  // Connects a producer of this process without a name that others could use.
  // Returns the producer's end, or -1 and sets errno. REQUIRES: no thread is in
  // RunOnce().
  int ConnectProducer();

  const std::unique_ptr<Impl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SERVICE_HOST_H_
