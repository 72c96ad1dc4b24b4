// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A server of coroutines on Boost.Asio, with a client and a database, all over
// TCP in one process. README.md says what its trace shows.

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "examples/async_server/coroutine.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"

namespace async_server {

namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kThreads = 2;
constexpr int kClients = 4;
constexpr int kRequestsOfClient = 5;
constexpr milliseconds kFaultTime(40);

// The faults that can be planted.
constexpr const char* kFaults[] = {
    "none",           "lost-wake",       "long-run",
    "lock-over-wait", "slow-downstream", "leak"};

class Server {
 public:
  explicit Server(std::string fault) : fault_(std::move(fault)) {}

  // Runs all requests, and prints what came of them.
  void Run();

 private:
  bool Has(const char* fault) const { return fault_ == fault; }

  // Operations that a coroutine awaits.
  template <typename Start>
  Operation<Start> Do(Start start) {
    return Operation<Start>(pool_, std::move(start));
  }
  auto Accept(tcp::acceptor& acceptor, tcp::socket& socket) {
    return Do(
        [&](auto done) { acceptor.async_accept(socket, std::move(done)); });
  }
  auto Connect(tcp::socket& socket, const tcp::acceptor& to) {
    return Do([&socket, address = to.local_endpoint()](auto done) {
      socket.async_connect(address, std::move(done));
    });
  }
  auto ReadLine(tcp::socket& socket, std::string& line) {
    line.clear();
    return Do([&](auto done) {
      boost::asio::async_read_until(socket, boost::asio::dynamic_buffer(line),
                                    '\n', std::move(done));
    });
  }
  auto Write(tcp::socket& socket, const std::string& text) {
    return Do([&](auto done) {
      boost::asio::async_write(socket, boost::asio::buffer(text),
                               std::move(done));
    });
  }
  auto Sleep(boost::asio::steady_timer& timer, milliseconds time) {
    timer.expires_after(time);
    return Do([&](auto done) { timer.async_wait(std::move(done)); });
  }

  // The coroutines.
  Job Listen(protozero::TaskSite&);
  Job Session(protozero::TaskSite&, std::unique_ptr<tcp::socket> socket);
  Job ListenForQueries(protozero::TaskSite&);
  Job Answer(protozero::TaskSite&, std::unique_ptr<tcp::socket> socket);
  Job Client(protozero::TaskSite&, int number);
  Job Watch(protozero::TaskSite&);

  const std::string fault_;
  boost::asio::io_context pool_;
  Mutex stock_{pool_};
  tcp::acceptor acceptor_{pool_, {boost::asio::ip::address_v4::loopback(), 0}};
  tcp::acceptor database_{pool_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::atomic<int> num_answered_{0};
  std::atomic<int> num_locked_{0};
  // The time that the planted fault took, for those who compare.
  steady_clock::duration fault_time_{0};
};

Job Server::Listen(protozero::TaskSite&) {
  for (;;) {
    auto socket = std::make_unique<tcp::socket>(pool_);
    co_await PROTOZERO_AWAIT("connection", Accept(acceptor_, *socket));
    Session(PROTOZERO_TASK_SITE("session"), std::move(socket)).StartOn(pool_);
  }
}

Job Server::Session(protozero::TaskSite&, std::unique_ptr<tcp::socket> socket) {
  tcp::socket database(pool_);
  co_await PROTOZERO_AWAIT("database connection", Connect(database, database_));
  std::string request, answer;
  boost::asio::steady_timer timer(pool_);
  for (;;) {
    co_await PROTOZERO_AWAIT("request", ReadLine(*socket, request));
    // The slice lasts over all suspensions.
    PROTOZERO_TRACE_EVENT("server", "request");
    protozero::SetTaskRequest(
        std::string_view(request).substr(0, request.size() - 1));
    if (Has("long-run") && request == "request 2.3\n") {
      const auto begin = steady_clock::now();
      while (steady_clock::now() < begin + kFaultTime) {
      }
      fault_time_ = steady_clock::now() - begin;
    }
    co_await PROTOZERO_AWAIT("stock lock", stock_.Lock());
    const bool holds_lock = Has("lock-over-wait") || Has("lost-wake");
    const int number = ++num_locked_;
    if (!holds_lock)
      stock_.Unlock();
    co_await PROTOZERO_AWAIT("query", Write(database, request));
    co_await PROTOZERO_AWAIT("database", ReadLine(database, answer));
    if (holds_lock)
      stock_.Unlock(/*forgets_to_wake=*/Has("lost-wake") && number == 7);
    co_await PROTOZERO_AWAIT("answer", Write(*socket, answer));
  }
}

Job Server::ListenForQueries(protozero::TaskSite&) {
  for (;;) {
    auto socket = std::make_unique<tcp::socket>(pool_);
    co_await PROTOZERO_AWAIT("connection", Accept(database_, *socket));
    Answer(PROTOZERO_TASK_SITE("database"), std::move(socket)).StartOn(pool_);
  }
}

Job Server::Answer(protozero::TaskSite&, std::unique_ptr<tcp::socket> socket) {
  std::string query;
  boost::asio::steady_timer timer(pool_);
  for (;;) {
    co_await PROTOZERO_AWAIT("query", ReadLine(*socket, query));
    const bool is_slow = Has("slow-downstream") && query == "request 1.2\n";
    const auto begin = steady_clock::now();
    co_await PROTOZERO_AWAIT(
        "disk", Sleep(timer, is_slow ? kFaultTime : milliseconds(1)));
    if (is_slow)
      fault_time_ = steady_clock::now() - begin;
    co_await PROTOZERO_AWAIT("answer", Write(*socket, query));
  }
}

Job Server::Client(protozero::TaskSite&, int number) {
  tcp::socket socket(pool_);
  co_await PROTOZERO_AWAIT("connection", Connect(socket, acceptor_));
  for (int i = 1; i <= kRequestsOfClient; ++i) {
    const std::string request =
        "request " + std::to_string(number) + "." + std::to_string(i) + "\n";
    std::string answer;
    co_await PROTOZERO_AWAIT("send", Write(socket, request));
    co_await PROTOZERO_AWAIT("answer", ReadLine(socket, answer));
    if (answer == request)
      ++num_answered_;
  }
}

// Waits for something that never happens.
Job Server::Watch(protozero::TaskSite&) {
  co_await PROTOZERO_AWAIT("stock lock", stock_.Lock());
  co_await PROTOZERO_AWAIT("change", std::suspend_always());
}

void Server::Run() {
  ListenForQueries(PROTOZERO_TASK_SITE("database listener")).StartOn(pool_);
  Listen(PROTOZERO_TASK_SITE("listener")).StartOn(pool_);
  for (int i = 1; i <= kClients; ++i)
    Client(PROTOZERO_TASK_SITE("client"), i).StartOn(pool_);
  std::vector<std::thread> threads;
  const auto work = boost::asio::make_work_guard(pool_);
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([this] { pool_.run(); });
  // Requests that are not answered never will be.
  const auto end = steady_clock::now() + std::chrono::seconds(2);
  while (num_answered_ < kClients * kRequestsOfClient &&
         steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  // The lock is free by now, unless a wake was lost.
  if (Has("leak")) {
    Watch(PROTOZERO_TASK_SITE("watcher")).StartOn(pool_);
    std::this_thread::sleep_for(kFaultTime);
  }
  pool_.stop();
  for (std::thread& thread : threads)
    thread.join();
  printf("%d of %d requests were answered\n", num_answered_.load(),
         kClients * kRequestsOfClient);
  if (fault_time_.count() != 0) {
    printf(
        "the fault took %lld ns\n",
        static_cast<long long>(std::chrono::nanoseconds(fault_time_).count()));
  }
}

int Main(int argc, char** argv) {
  std::string fault = "none";
  std::string path = "async_server.pftrace";
  bool is_right = argc % 2 == 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--fault") == 0)
      fault = argv[i + 1];
    else if (strcmp(argv[i], "-o") == 0)
      path = argv[i + 1];
    else
      is_right = false;
  }
  bool is_known = false;
  for (const char* const name : kFaults)
    is_known = is_known || fault == name;
  if (!is_right || !is_known) {
    fprintf(stderr, "Usage: async_server [--fault NAME] [-o FILE]\nFaults:");
    for (const char* const name : kFaults)
      fprintf(stderr, " %s", name);
    fprintf(stderr, "\n");
    return 2;
  }
  protozero::LocalTrace trace(path);
  Server server(fault);
  server.Run();
  if (!trace.Stop()) {
    fprintf(stderr, "async_server: %s\n", trace.error().c_str());
    return 1;
  }
  // Behind the trace, which shows them waiting.
  Job::DestroyUnfinished();
  return 0;
}

}  // namespace

}  // namespace async_server

int main(int argc, char** argv) {
  return async_server::Main(argc, argv);
}
