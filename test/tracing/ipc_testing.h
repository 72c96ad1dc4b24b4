// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_IPC_TESTING_H_
#define TEST_TRACING_IPC_TESTING_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"

namespace protozero::test {

inline constexpr char kSourceName[] = "test.source";
// The limit for things that take milliseconds. Only one that hangs takes this
// long.
inline constexpr uint32_t kTimeoutMs = 60000;
inline constexpr uint32_t kMaxNumberedPacketSize = 20000;

// Waits for something that another thread or process is about to do.
bool WaitFor(const std::function<bool()>& condition);

// A service whose host has a thread of its own.
class HostThread {
 public:
  explicit HostThread(const std::string& socket);
  ~HostThread();

  // Start a session. The first one records kSourceName, and has room for all
  // packets.
  TracingSessionID Start();
  TracingSessionID Start(const TraceConfig& config);
  bool Flush(TracingSessionID session);
  std::string Read(TracingSessionID session);
  // Stops the session, and returns all that has not been read. |stats| may be
  // null.
  std::string StopAndRead(TracingSessionID session,
                          TraceStats* stats = nullptr);
  void WaitForProducers(size_t number);

 private:
  TracingService service_;
  ServiceHost host_;
  std::thread thread_;
};

// Writes packets |first| to |end| - 1 of a stream.
void WritePackets(DataSourceWriters* writers,
                  uint32_t stream,
                  uint32_t first,
                  uint32_t end);

// The number of packets of each stream in a trace, by the stream's number; see
// numbered_packets.h. Received() expects that none has changed.
using Streams = std::map<uint32_t, uint64_t>;
Streams Received(const std::string& trace);

// A test with a folder for a socket.
class IpcTest : public testing::Test {
 public:
  IpcTest();
  ~IpcTest() override;

  const std::string& socket() const { return socket_; }
  // Returns options of a producer that uses that socket, and is quick to try
  // again.
  Producer::Options Options() const;

 private:
  std::string folder_;
  std::string socket_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_IPC_TESTING_H_
