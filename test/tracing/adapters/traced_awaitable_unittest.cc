// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Compiled for Asio and for Boost.Asio (BOOST_ASIO_TEST), without and with the
// tracing of handlers.

#include <stddef.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/tracing/adapters/numbered_spans.h"
#include "test/tracing/adapters/recorded_steps.h"

#if defined(BOOST_ASIO_TEST)
#define HEADER <boost/asio.hpp>
#define SUITE BoostTracedAwaitableTest
#else
#define HEADER <asio.hpp>
#define SUITE TracedAwaitableTest
#endif

#if __has_include(HEADER)
#include HEADER
#endif

#include "protozero/tracing/adapters/traced_awaitable.h"

#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)

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
using protozero::TracedAwaitable;
using protozero::TracedTask;

// A step that is there whether handlers are traced besides or not.
Strings StepsOfCoroutines(protozero::test::StepRecording* recording) {
  Strings found;
  for (const std::string& step : recording->Finish()) {
    for (const char* kind :
         {"spawn 1 ", " 1 waits: ", " 1 ends: ", "end 1: "}) {
      const size_t at = step.find(kind);
      if (at != std::string::npos)
        found.push_back(step.substr(at + (*kind == ' ' ? 1 : 0)));
    }
  }
  return found;
}

// Waits in a span of its own.
net::awaitable<void> PauseInSpan(uint8_t span, std::vector<int>* noted) {
  noted->push_back(protozero::test::CurrentSpan());
  const protozero::otlp::Scope scope(protozero::test::NumberedSpan(span));
  net::steady_timer timer(co_await net::this_coro::executor,
                          std::chrono::milliseconds(1));
  co_await timer.async_wait(TracedAwaitable("pause"));
  noted->push_back(protozero::test::CurrentSpan());
}

net::awaitable<void> ServeInSpan(uint8_t span, std::vector<int>* noted) {
  const protozero::otlp::Scope scope(protozero::test::NumberedSpan(span));
  co_await PauseInSpan(static_cast<uint8_t>(span + 1), noted);
  noted->push_back(protozero::test::CurrentSpan());
  net::steady_timer timer(co_await net::this_coro::executor,
                          std::chrono::milliseconds(1));
  co_await timer.async_wait(TracedAwaitable("pause"));
  noted->push_back(protozero::test::CurrentSpan());
}

TEST(SUITE, TheCurrentSpanFollowsACoroutine) {
  protozero::FollowTasksWithSpans();
  net::io_context io;
  std::vector<int> first, second, third;
  {
    const protozero::otlp::Scope creator(protozero::test::NumberedSpan(90));
    net::co_spawn(io, TracedTask("first", ServeInSpan(10, &first)),
                  net::detached);
    net::co_spawn(io, TracedTask("third", PauseInSpan(30, &third)),
                  net::detached);
  }
  const auto check = [] { EXPECT_EQ(protozero::test::CurrentSpan(), 0); };
  net::co_spawn(io, TracedTask("second", ServeInSpan(20, &second)),
                [&](std::exception_ptr) { check(); });
  // Each handler on a thread of its own.
  while (!io.stopped()) {
    std::thread([&] {
      io.run_one();
      check();
    }).join();
  }
  EXPECT_EQ(first, (std::vector<int>{10, 11, 10, 10}));
  EXPECT_EQ(second, (std::vector<int>{20, 21, 20, 20}));
  EXPECT_EQ(third, (std::vector<int>{90, 30}));
}

TEST(SUITE, ADestroyedCoroutineChangesNoSpan) {
  protozero::FollowTasksWithSpans();
  const protozero::otlp::Scope scope(protozero::test::NumberedSpan(80));
  std::vector<int> noted;
  {
    net::io_context io;
    net::co_spawn(io, TracedTask("waits", ServeInSpan(10, &noted)),
                  net::detached);
    io.poll();
    net::co_spawn(io, TracedTask("new", ServeInSpan(20, &noted)),
                  net::detached);
  }
  EXPECT_EQ(protozero::test::CurrentSpan(), 80);
}

net::awaitable<int> Pause(int result) {
  net::steady_timer timer(co_await net::this_coro::executor,
                          std::chrono::milliseconds(1));
  Error error;
  co_await timer.async_wait(TracedAwaitable("pause"));
  co_await timer.async_wait(
      net::redirect_error(TracedAwaitable("again"), error));
  co_return result;
}

TEST(SUITE, ACoroutineIsATaskThatWaitsAtNamedPlaces) {
  protozero::test::StepRecording recording;
  net::io_context io;
  auto result =
      net::co_spawn(io, TracedTask("session", Pause(7)), net::use_future);
  io.run();
  EXPECT_EQ(result.get(), 7);
  EXPECT_EQ(StepsOfCoroutines(&recording),
            (Strings{"spawn 1 session", "1 waits: pause", "1 waits: again",
                     "1 ends: done"}));
}

net::awaitable<void> Fail() {
  (void)co_await Pause(0);
  std::rethrow_exception(std::make_exception_ptr(1));
}

TEST(SUITE, AnExceptionIsAFailureAndPassesOn) {
  protozero::test::StepRecording recording;
  net::io_context io;
  bool has_failed = false;
  net::co_spawn(
      io, TracedTask("session", [] { return Fail(); }),
      [&](const std::exception_ptr& e) { has_failed = e != nullptr; });
  io.run();
  EXPECT_TRUE(has_failed);
  EXPECT_EQ(StepsOfCoroutines(&recording).back(), "1 ends: failed");
}

TEST(SUITE, ATaskIsDestroyedWithItsContext) {
  for (const bool has_begun : {false, true}) {
    protozero::test::StepRecording recording;
    {
      net::io_context io;
      net::co_spawn(io, TracedTask("session", Pause(7)), net::detached);
      // The first handlers of co_spawn(), and the first run of the task.
      for (int i = 0; has_begun && i < 2; ++i)
        io.run_one();
    }
    EXPECT_EQ(StepsOfCoroutines(&recording).back(), "end 1: destroyed");
  }
}

TEST(SUITE, ACoroutineIsTheSameWithoutARecording) {
  net::io_context io;
  auto result =
      net::co_spawn(io, TracedTask("session", Pause(3)), net::use_future);
  io.run();
  EXPECT_EQ(result.get(), 3);
}

// A chat: lines of one client go to the others.
class ChatSession : public std::enable_shared_from_this<ChatSession> {
 public:
  using Room = std::set<std::shared_ptr<ChatSession>>;

  ChatSession(Tcp::socket socket, Room* room)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        room_(room) {
    timer_.expires_at(std::chrono::steady_clock::time_point::max());
  }
  void Start() {
    room_->insert(shared_from_this());
    net::co_spawn(
        socket_.get_executor(),
        TracedTask("reader",
                   [self = shared_from_this()] { return self->Read(); }),
        net::detached);
    net::co_spawn(
        socket_.get_executor(),
        TracedTask("writer",
                   [self = shared_from_this()] { return self->Write(); }),
        net::detached);
  }

 private:
  net::awaitable<void> Read() {
    std::string text;
    Error error;
    while (!error) {
      const size_t size = co_await net::async_read_until(
          socket_, net::dynamic_buffer(text, 100), '\n',
          net::redirect_error(TracedAwaitable("a line"), error));
      if (error)
        break;
      for (const auto& other : *room_)
        other->Deliver(text.substr(0, size));
      text.erase(0, size);
    }
    Stop();
  }
  void Deliver(const std::string& line) {
    lines_.push_back(line);
    timer_.cancel_one();
  }
  void Stop() {
    room_->erase(shared_from_this());
    socket_.close();
    timer_.cancel();
  }
  net::awaitable<void> Write() {
    while (socket_.is_open()) {
      Error error;
      if (lines_.empty()) {
        co_await timer_.async_wait(
            net::redirect_error(TracedAwaitable(), error));
        continue;
      }
      co_await net::async_write(
          socket_, net::buffer(lines_.front()),
          net::redirect_error(TracedAwaitable("room to send"), error));
      lines_.pop_front();
    }
  }

  Tcp::socket socket_;
  net::steady_timer timer_;
  Room* const room_;
  std::deque<std::string> lines_;
};

net::awaitable<void> Listen(Tcp::acceptor* acceptor, ChatSession::Room* room) {
  for (int i = 0; i < 2; ++i) {
    auto socket = co_await acceptor->async_accept(TracedAwaitable("a client"));
    std::make_shared<ChatSession>(std::move(socket), room)->Start();
  }
}

TEST(SUITE, AChatIsATaskForEachCoSpawn) {
  protozero::test::StepRecording recording;
  {
    net::io_context io;
    ChatSession::Room room;
    Tcp::acceptor acceptor(io,
                           Tcp::endpoint(net::ip::address_v4::loopback(), 0));
    net::co_spawn(io, TracedTask("listener", Listen(&acceptor, &room)),
                  net::detached);
    Tcp::socket near(io), far(io);
    near.connect(acceptor.local_endpoint());
    far.connect(acceptor.local_endpoint());
    while (room.size() < 2)
      io.run_one();
    io.poll();  // Until all of them wait.
    net::write(near, net::buffer("hello\n", 6));
    while (near.available() < 6 || far.available() < 6)
      io.run_one();
    io.poll();
    near.close();
    far.close();
    io.run();
    EXPECT_TRUE(room.empty());
  }
  const Strings steps = recording.Finish();
  const auto count = [&](const std::string& text) {
    return std::count_if(steps.begin(), steps.end(), [&](const auto& step) {
      return step.find(text) != std::string::npos;
    });
  };
  EXPECT_EQ(count(" listener"), 1);
  EXPECT_EQ(count(" reader"), 2);
  EXPECT_EQ(count(" writer"), 2);
  EXPECT_EQ(count("waits: a client"), 2);
  EXPECT_EQ(count("waits: a line"), 3);
  EXPECT_EQ(count("waits: room to send"), 2);
  // Each writer waits for its first line, and for the next one.
  EXPECT_EQ(count("waits: Write"), 4);
  EXPECT_EQ(count("waits: unnamed wait"), 0);
  // Handlers that are traced besides end, too.
  EXPECT_EQ(count("spawn "), count("ends: ") + count("end "));
}

net::awaitable<void> WaitWithoutAName() {
  net::steady_timer timer(co_await net::this_coro::executor,
                          std::chrono::milliseconds(1));
  co_await timer.async_wait(net::use_awaitable);
}

TEST(SUITE, AWaitWithoutTheTokenHasNoName) {
  protozero::test::StepRecording recording;
  net::io_context io;
  net::co_spawn(io, TracedTask("session", WaitWithoutAName()), net::detached);
  io.run();
  const Strings steps = StepsOfCoroutines(&recording);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1], "1 waits: unnamed wait");
}

constexpr int kSpawnLine = __LINE__ + 3;
template <typename Coroutine>
auto AsSession(Coroutine coroutine) {
  return TracedTask("session", std::move(coroutine));
}
net::awaitable<void> WaitTwice() {
  net::steady_timer timer(co_await net::this_coro::executor,
                          std::chrono::milliseconds(1));
  co_await timer.async_wait(TracedAwaitable("pause"));
  co_await timer.async_wait(TracedAwaitable());
}
constexpr int kSecondLine = __LINE__ - 2;

TEST(SUITE, SpawnsAndWaitsHaveTheLinesOfTheProgram) {
  protozero::test::StepRecording recording;
  net::io_context io;
  net::co_spawn(io, AsSession(WaitTwice()), net::detached);
  io.run();
  Strings lines;
  for (const std::string& step : recording.Finish(true)) {
    const size_t at = step.rfind(' ');
    if (step.rfind("spawn 1 ", 0) == 0 ||
        step.find(" 1 waits: ") != std::string::npos)
      lines.push_back(step.substr(at + 1));
  }
  EXPECT_EQ(lines, (Strings{"session:" + std::to_string(kSpawnLine),
                            "pause:" + std::to_string(kSecondLine - 1),
                            "WaitTwice:" + std::to_string(kSecondLine)}));
}

}  // namespace

#else
TEST(SUITE, NeedsAsioWithCoroutines) {
  GTEST_SKIP() << "there is no Asio that has coroutines with this compiler";
}
#endif
