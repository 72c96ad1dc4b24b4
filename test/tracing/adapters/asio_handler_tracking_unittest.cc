// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Compiled twice: for Asio, and for Boost.Asio if BOOST_ASIO_TEST is defined.

#include <stddef.h>
#include <stdint.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/tracing/adapters/numbered_spans.h"
#include "test/tracing/adapters/recorded_steps.h"

#if defined(BOOST_ASIO_TEST)
#define HEADER <boost/asio.hpp>
#define LOCATION BOOST_ASIO_HANDLER_LOCATION
#define SUITE BoostAsioHandlerTrackingTest
#else
#define HEADER <asio.hpp>
#define LOCATION ASIO_HANDLER_LOCATION
#define SUITE AsioHandlerTrackingTest
#endif

#if __has_include(HEADER)
#include HEADER

namespace {

#if defined(BOOST_ASIO_TEST)
namespace net = boost::asio;
using Error = boost::system::error_code;
#else
namespace net = asio;
using Error = asio::error_code;
#endif
using Strings = std::vector<std::string>;
using Tcp = net::ip::tcp;

// A connection to itself.
struct Pair {
  explicit Pair(net::io_context& io) : near(io), far(io) {
    Tcp::acceptor acceptor(io,
                           Tcp::endpoint(net::ip::address_v4::loopback(), 0));
    near.connect(acceptor.local_endpoint());
    acceptor.accept(far);
  }
  Tcp::socket near;
  Tcp::socket far;
  char bytes[2];
};

TEST(SUITE, TheCurrentSpanFollowsHandlers) {
  using protozero::otlp::Scope;
  using protozero::test::CurrentSpan;
  using protozero::test::NumberedSpan;
  protozero::FollowTasksWithSpans();
  net::io_context io;
  Pair pair(io);
  std::vector<int> noted;
  {
    const Scope scope(NumberedSpan(10));
    pair.near.async_read_some(net::buffer(pair.bytes), [&](Error, size_t) {
      noted.push_back(CurrentSpan());
      const Scope inner(NumberedSpan(11));
      net::post(io, [&] { noted.push_back(CurrentSpan()); });
    });
  }
  net::post(io, [&] {
    noted.push_back(CurrentSpan());
    pair.far.write_some(net::buffer("a", 1));
  });
  while (!io.stopped()) {
    io.run_one();
    EXPECT_EQ(CurrentSpan(), 0);
  }
  EXPECT_EQ(noted, (std::vector<int>{0, 10, 11}));
}

TEST(SUITE, APostedHandlerIsReadyAtOnce) {
  protozero::test::StepRecording recording;
  net::io_context io;
  net::post(io, [&] { net::post(io, [] {}); });
  io.run();
  EXPECT_EQ(recording.Finish(),
            (Strings{"spawn 1 io_context.execute", "run 1",
                     "spawn 2 io_context.execute", "run 0, 1 ends: done",
                     "run 2", "run 0, 2 ends: done"}));
}

TEST(SUITE, AnOperationWaitsUntilTheReactorFindsBytes) {
  protozero::test::StepRecording recording;
  net::io_context io;
  Pair pair(io);
  pair.near.async_receive(net::buffer(pair.bytes), [](const Error&, size_t) {});
  net::post(io, [&] { pair.far.send(net::buffer("x", 1)); });
  io.run();
  EXPECT_EQ(
      recording.Finish(),
      (Strings{"spawn 1 socket.async_receive, waits: socket.async_receive",
               "spawn 2 io_context.execute", "run 2", "run 0, 2 ends: done",
               "wake 1", "run 1", "run 0, 1 ends: done"}));
}

// The parts of an operation are a chain.
TEST(SUITE, AHandlerStartsTheNextOperation) {
  protozero::test::StepRecording recording;
  net::io_context io;
  Pair pair(io);
  net::async_read(pair.near, net::buffer(pair.bytes),
                  [](const Error& error, size_t) { EXPECT_FALSE(error); });
  pair.far.send(net::buffer("x", 1));
  io.run_one();
  pair.far.send(net::buffer("y", 1));
  io.run();
  EXPECT_EQ(
      recording.Finish(),
      (Strings{
          "spawn 1 socket.async_receive, waits: socket.async_receive", "wake 1",
          "run 1", "spawn 2 socket.async_receive, waits: socket.async_receive",
          "run 0, 1 ends: done", "wake 2", "run 2", "run 0, 2 ends: done"}));
}

TEST(SUITE, TimersEndAndAreCancelledOrDestroyed) {
  protozero::test::StepRecording recording;
  {
    net::io_context io;
    net::steady_timer timer(io, std::chrono::milliseconds(1));
    timer.async_wait([](const Error&) {});
    io.run();
    timer.expires_after(std::chrono::hours(1));
    timer.async_wait([](const Error& error) {
      EXPECT_EQ(error, net::error::operation_aborted);
    });
    timer.cancel();
    io.restart();
    io.run();
  }
  {
    net::io_context io;
    net::steady_timer timer(io, std::chrono::hours(1));
    timer.async_wait([](const Error&) {});
    io.poll();
  }
  EXPECT_EQ(
      recording.Finish(),
      (Strings{
          "spawn 1 deadline_timer.async_wait, waits: deadline_timer.async_wait",
          "run 1", "run 0, 1 ends: done",
          "spawn 2 deadline_timer.async_wait, waits: deadline_timer.async_wait",
          "run 2", "run 0, 2 ends: cancelled",
          "spawn 3 deadline_timer.async_wait, waits: deadline_timer.async_wait",
          "end 3: destroyed"}));
}

TEST(SUITE, AHandlerRunsWithinAnother) {
  protozero::test::StepRecording recording;
  net::io_context io;
  auto strand = net::make_strand(io);
  net::post(strand, [] {});
  io.run();
  EXPECT_EQ(recording.Finish(),
            (Strings{"spawn 1 strand_executor.execute",
                     "spawn 2 io_context.execute", "run 2", "run 1",
                     "run 2, 1 ends: done", "run 0, 2 ends: done"}));
}

TEST(SUITE, ThreadsOfAPoolShareHandlers) {
  protozero::test::StepRecording recording;
  net::thread_pool pool(2);
  for (int i = 0; i < 100; ++i)
    net::post(pool, [] {});
  pool.join();
  int num_done = 0;
  for (const std::string& step : recording.Finish())
    num_done += step.find(" ends: done") != std::string::npos ? 1 : 0;
  EXPECT_EQ(num_done, 100);
}

// Neither has coroutines with the newest clang.
#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
// Starts an operation at the place that |token| knows.
net::awaitable<const protozero::TaskSite*> FindSite(
    net::use_awaitable_t<> token) {
  const protozero::TaskSite* site = nullptr;
  co_await net::async_initiate<net::use_awaitable_t<>, void()>(
      [&](auto handler) {
        site = &protozero::internal::AsioSites::Find("here", "async_start");
        net::post(std::move(handler));
      },
      token);
  co_return site;
}

TEST(SUITE, ASiteIsWhereACoroutineAwaits) {
  net::io_context io;
  const int line = __LINE__ + 2;
  auto result =
      net::co_spawn(io, FindSite(net::use_awaitable_t<>()), net::use_future);
  io.run();
  const protozero::TaskSite* const site = result.get();
  EXPECT_STREQ(site->file, __FILE__);
  EXPECT_EQ(site->line, static_cast<uint32_t>(line));
}
#endif

TEST(SUITE, ASiteHasThePlaceOfTheOutermostLocation) {
  const auto find = [](const char* file, int line) {
    const protozero::internal::AsioLocation outer(nullptr, 0, nullptr);
    const protozero::internal::AsioLocation known(file, line, "Outer");
    LOCATION(("inner.cc", 1, "Inner"));
    return &protozero::internal::AsioSites::Find("timer", "async_wait");
  };
  const protozero::TaskSite* const site = find("server.cc", 7);
  EXPECT_STREQ(site->name, "timer.async_wait");
  EXPECT_STREQ(site->file, "server.cc");
  EXPECT_EQ(site->line, 7u);
  EXPECT_EQ(find("server.cc", 7), site);
  EXPECT_EQ(find("server.cc", 8)->line, 8u);
  // More places than there is room for share a site.
  const protozero::TaskSite* last = site;
  for (int i = 0; i < 5000; ++i)
    last = find("many.cc", i);
  EXPECT_STREQ(last->name, "asio");
  EXPECT_EQ(find("server.cc", 7), site);
}

#if defined(__cpp_exceptions)
TEST(SUITE, AnExceptionIsAFailureAndPassesOn) {
  protozero::test::StepRecording recording;
  net::io_context io;
  net::post(io, [] { throw 1; });
  EXPECT_THROW(io.run(), int);
  EXPECT_EQ(recording.Finish().back(), "run 0, 1 ends: failed");
}
#endif

}  // namespace

#else
TEST(SUITE, NeedsAsio) {
  GTEST_SKIP() << "libasio-dev or libboost-dev is not installed";
}
#endif
