// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A server that traces: the main thread accepts requests, a pool of threads
// answers them, and a timer empties the cache. server.pftrace shows where the
// time of each request went.

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"

namespace {

using protozero::CounterTrack;
using protozero::Flow;
using protozero::TerminatingFlow;
using protozero::Track;

constexpr uint64_t kRequests = 300;
constexpr uint64_t kPages = 16;
constexpr size_t kThreads = 3;
constexpr std::chrono::microseconds kTimeBetweenRequests(100);
constexpr std::chrono::milliseconds kCacheLifetime(10);

constexpr auto kQueued =
    CounterTrack("queued").set_unit(CounterTrack::Unit::kCount);
constexpr auto kSent =
    CounterTrack("sent").set_unit(CounterTrack::Unit::kBytes);

// Runs jobs in their order, each on the next idle thread.
class ThreadPool {
 public:
  explicit ThreadPool(size_t size) {
    for (size_t i = 0; i < size; ++i)
      threads_.emplace_back([this, i] { Run("pool " + std::to_string(i)); });
  }

  // Returns when all jobs are done.
  ~ThreadPool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }

  void Post(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(std::move(job));
      PROTOZERO_TRACE_COUNTER("pool", kQueued, jobs_.size());
    }
    changed_.notify_one();
  }

 private:
  void Run(const std::string& thread_name) {
    protozero::SetTraceThreadName(thread_name);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
      if (jobs_.empty())
        return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      PROTOZERO_TRACE_COUNTER("pool", kQueued, jobs_.size());
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// Calls a function once in each period, on a thread of its own.
class Timer {
 public:
  Timer(std::chrono::milliseconds period, std::function<void()> call)
      : thread_([this, period, call = std::move(call)] {
          protozero::SetTraceThreadName("timer");
          std::unique_lock<std::mutex> lock(mutex_);
          while (!ended_.wait_for(lock, period, [this] { return is_ending_; }))
            call();
        }) {}

  ~Timer() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::thread thread_;  // The last member: it uses the others.
};

class Server {
 public:
  // The slice of a request has a track of its own, since it begins and ends on
  // different threads. The flow joins the slices of these threads by arrows.
  void Accept(uint64_t request) {
    PROTOZERO_TRACE_EVENT("server", "accept", Flow(request));
    PROTOZERO_TRACE_EVENT_BEGIN("server", "request", Track(request), "number",
                                request);
    pool_.Post([this, request] { Answer(request); });
  }

 private:
  void Answer(uint64_t request) {
    PROTOZERO_TRACE_EVENT("server", "answer", TerminatingFlow(request));
    const std::string page = FindPage(request % kPages);
    const uint64_t sent = sent_.fetch_add(page.size()) + page.size();
    PROTOZERO_TRACE_COUNTER("server", kSent, sent);
    PROTOZERO_TRACE_EVENT_END("server", Track(request));
  }

  std::string FindPage(uint64_t number) {
    {
      const std::lock_guard<std::mutex> lock(cache_mutex_);
      const auto found = cache_.find(number);
      if (found != cache_.end())
        return found->second;
    }
    PROTOZERO_TRACE_EVENT("server", "render", "page", number);
    std::string page = "<title>Page " + std::to_string(number) + "</title>\n";
    for (uint64_t i = 1; i < 5000; ++i)
      page += std::to_string(i * number % 7919) + (i % 10 == 0 ? '\n' : ' ');
    const std::lock_guard<std::mutex> lock(cache_mutex_);
    return cache_[number] = page;
  }

  void EmptyCache() {
    PROTOZERO_TRACE_EVENT("server", "empty cache");
    const std::lock_guard<std::mutex> lock(cache_mutex_);
    cache_.clear();
  }

  std::mutex cache_mutex_;
  std::map<uint64_t, std::string> cache_;
  std::atomic<uint64_t> sent_{0};
  Timer timer_{kCacheLifetime, [this] { EmptyCache(); }};
  ThreadPool pool_{kThreads};  // The last member: its jobs use the others.
};

}  // namespace

int main() {
  protozero::LocalTrace trace("server.pftrace");
  protozero::SetTraceThreadName("main");
  {
    Server server;
    for (uint64_t request = 0; request < kRequests; ++request) {
      server.Accept(request);
      std::this_thread::sleep_for(kTimeBetweenRequests);
    }
  }
  trace.Stop();
  const uint64_t lost = trace.stats().lost().total();
  if (!trace.error().empty() || lost != 0) {
    fprintf(stderr, "server: %" PRIu64 " packets lost. %s\n", lost,
            trace.error().c_str());
    return 1;
  }
  printf("server.pftrace: %" PRIu64 " requests\n", kRequests);
}
