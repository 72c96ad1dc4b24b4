// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a producer in which each allocation and each system call fails in turn.
// The program goes on; the producer says why it is off; when there is memory
// again, it traces again.

#include <errno.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/tracing/producer.h"
#include "test/testing/failing_calls.h"
#include "test/testing/open_descriptors.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

constexpr uint32_t kPackets = 20;

class ProducerFaultsTest : public IpcTest {
 public:
  // Traces while the |first|-th call fails, and perhaps those that follow.
  // Traces again when none fails. Returns whether there was such a call.
  bool TraceWithFault(HostThread* host,
                      uint64_t first,
                      NthCallFails::Which which) const;
  void TraceWithEachFault(NthCallFails::Which which) const;
};

bool ProducerFaultsTest::TraceWithFault(HostThread* host,
                                        uint64_t first,
                                        NthCallFails::Which which) const {
  const TracingSessionID session = host->Start();
  const auto source =
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName});
  uint64_t calls = 0;
  {
    DataSourceWriters writers(source);
    Producer::Options options = Options();
    NthCallFails fault(first, which);
    std::optional<CodeUnderTest> code(std::in_place);
    Producer producer(std::move(options));
    const bool is_registered = producer.RegisterDataSource(source);
    // The loop runs until the producer works or has met the fault, however long
    // that takes. After the fault, it might wait in vain.
    while (
        !producer.Sync(/*timeout_ms=*/which == NthCallFails::kOnce ? 50 : 5) &&
        fault.count() < first) {
    }
    WritePackets(&writers, /*stream=*/1, 0, kPackets);
    writers.Flush();
    const std::string why = producer.why_off();
    code.reset();
    fault.Stop();
    calls = fault.count();
    (void)why;

    if (producer.state() == Producer::State::kDisconnected) {
      // The producer could not start.
      EXPECT_TRUE(producer.off_reason() == Producer::OffReason::kNoThread ||
                  producer.off_reason() == Producer::OffReason::kOutOfMemory)
          << producer.why_off();
      EXPECT_EQ(producer.why_off(), why);
      EXPECT_FALSE(producer.Sync(kTimeoutMs));
      EXPECT_FALSE(source->is_enabled());
    } else {
      // Nothing is missing any more.
      if (!is_registered) {
        EXPECT_TRUE(producer.RegisterDataSource(source));
      }
      EXPECT_TRUE(WaitFor([&] { return producer.Sync(kTimeoutMs); }));
      EXPECT_TRUE(source->is_enabled());
      // A thread that had no memory for its writer looks again.
      EXPECT_TRUE(host->Flush(session));
      WritePackets(&writers, /*stream=*/2, 0, kPackets);
      EXPECT_EQ(producer.why_off(), "");
    }
    const bool has_traced = source->is_enabled();
    writers.Flush();
    Streams received = Received(host->StopAndRead(session));
    EXPECT_LE(received[1], kPackets);
    EXPECT_EQ(received[2], has_traced ? kPackets : 0);
  }
  host->WaitForProducers(0);
  return calls >= first;
}

void ProducerFaultsTest::TraceWithEachFault(NthCallFails::Which which) const {
  {
    HostThread host(socket());
    ASSERT_FALSE(TraceWithFault(&host, UINT64_MAX, which));
  }
  // They are counted without a host, which may be about to close the last
  // connection.
  const size_t descriptors = CountOpenDescriptors();
  {
    HostThread host(socket());
    uint64_t first = 1;
    while (TraceWithFault(&host, first, which) && !HasFailure())
      ++first;
    EXPECT_FALSE(HasFailure()) << "when call " << first << " fails";
    EXPECT_GT(first, 20u);
  }
  EXPECT_EQ(CountOpenDescriptors(), descriptors);
}

TEST_F(ProducerFaultsTest, EachCallFailsOnce) {
  TraceWithEachFault(NthCallFails::kOnce);
}

TEST_F(ProducerFaultsTest, EachCallFailsAndThoseThatFollow) {
  TraceWithEachFault(NthCallFails::kFromThenOn);
}

// The service may see the end of a connection before the producer's thread
// does, and end a session that has nothing of this program.
TEST_F(ProducerFaultsTest, SaysAtOnceThatAConnectionHasBroken) {
  HostThread host(socket());
  host.Start();
  Producer producer(Options());
  ASSERT_TRUE(producer.RegisterDataSource(
      std::make_shared<DataSource>(DataSourceDescriptor{kSourceName})));
  ASSERT_TRUE(WaitFor([&] { return producer.Sync(kTimeoutMs); }));
  ASSERT_EQ(producer.why_off(), "");
  const CallsFail fail("sendmsg", ENOBUFS);
  producer.RegisterDataSource(
      std::make_shared<DataSource>(DataSourceDescriptor{"another"}));
  EXPECT_NE(producer.why_off(), "");
}

}  // namespace
}  // namespace protozero::test
