// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A server that traces: the main thread accepts requests, a pool of threads
// answers them, and a timer empties the cache. server.pftrace shows where the
// time of each request went; if a recorder has started the server, it has the
// trace. With --fault, something makes requests slow: faults.h says what.

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

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

#include "faults.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

namespace {

using faults::Fault;
using protozero::CounterTrack;
using protozero::Flow;
using protozero::TerminatingFlow;
using protozero::Track;

constexpr uint64_t kPages = 16;
constexpr size_t kThreads = 3;
constexpr std::chrono::microseconds kTimeBetweenRequests(100);
constexpr uint32_t kConnectTimeoutMs = 5000;
// The page that a fault makes slow.
constexpr uint64_t kFaultyPage = 7;

constexpr auto kQueued =
    CounterTrack("queued").set_unit(CounterTrack::Unit::kCount);
constexpr auto kSent =
    CounterTrack("sent").set_unit(CounterTrack::Unit::kBytes);

// Runs jobs in their order, each on the next idle thread.
class ThreadPool {
 public:
  // Each thread calls |begin| first.
  ThreadPool(size_t size, const std::function<void()>& begin) {
    for (size_t i = 0; i < size; ++i) {
      threads_.emplace_back([this, i, begin] {
        begin();
        Run("pool " + std::to_string(i));
      });
    }
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

// The command line.
struct Options {
  uint64_t requests = 300;
  Fault fault = Fault::kNone;
  std::chrono::milliseconds cache_lifetime{10};
};

class Server {
 public:
  explicit Server(const Options& options)
      : fault_(options.fault),
        timer_(options.cache_lifetime, [this] { EmptyCache(); }) {}

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

  // A slice says how long a thread waits for the cache.
  std::unique_lock<std::mutex> LockCache() {
    PROTOZERO_TRACE_EVENT("server", "lock cache");
    return std::unique_lock<std::mutex>(cache_mutex_);
  }

  std::string FindPage(uint64_t number) {
    {
      const auto lock = LockCache();
      const auto found = cache_.find(number);
      if (found != cache_.end())
        return found->second;
    }
    PROTOZERO_TRACE_EVENT("server", "render", "page", number);
    std::string page = "<title>Page " + std::to_string(number) + "</title>\n";
    for (uint64_t i = 1; i < 5000; ++i)
      page += std::to_string(i * number % 7919) + (i % 10 == 0 ? '\n' : ' ');
    if (number == kFaultyPage)
      faults::MakePageSlow(fault_);
    const auto lock = LockCache();
    return cache_[number] = page;
  }

  void EmptyCache() {
    const auto lock = LockCache();
    PROTOZERO_TRACE_EVENT("server", "empty cache", "pages", cache_.size());
    cache_.clear();
    faults::HoldLock(fault_);
  }

  const Fault fault_;
  std::mutex cache_mutex_;
  std::map<uint64_t, std::string> cache_;
  std::atomic<uint64_t> sent_{0};
  Timer timer_;
  // The last member: its jobs use the others.
  ThreadPool pool_{kThreads, [this] { faults::ShareProcessor(fault_); }};
};

uint64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// Prints what the server did, and the processor time that it took, switches of
// threads included.
void Report(const char* output, uint64_t requests, uint64_t begin_ns) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  printf("%s%" PRIu64
         " requests in %.3f s, %ld switches, %.3f s of a processor\n",
         output, requests,
         static_cast<double>(Now(CLOCK_MONOTONIC) - begin_ns) / 1e9,
         usage.ru_nvcsw + usage.ru_nivcsw,
         static_cast<double>(Now(CLOCK_PROCESS_CPUTIME_ID)) / 1e9);
}

// Answers that many requests.
void Serve(const Options& options) {
  protozero::SetTraceThreadName("main");
  Server server(options);
  for (uint64_t request = 0; request < options.requests; ++request) {
    server.Accept(request);
    std::this_thread::sleep_for(kTimeBetweenRequests);
  }
}

// Serves, and the recorder that has started the program has the trace.
int ServeRecorded(const Options& options) {
  protozero::Producer producer({});
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(kConnectTimeoutMs))
    fprintf(stderr, "server: not traced: %s\n", producer.why_off().c_str());
  const uint64_t begin_ns = Now(CLOCK_MONOTONIC);
  Serve(options);
  Report("", options.requests, begin_ns);
  return 0;
}

// Serves, and writes server.pftrace.
int ServeAlone(const Options& options) {
  protozero::LocalTrace trace("server.pftrace");
  const uint64_t begin_ns = Now(CLOCK_MONOTONIC);
  Serve(options);
  trace.Stop();
  const uint64_t lost = trace.stats().lost().total();
  if (!trace.error().empty() || lost != 0) {
    fprintf(stderr, "server: %" PRIu64 " packets lost. %s\n", lost,
            trace.error().c_str());
    return 1;
  }
  Report("server.pftrace: ", options.requests, begin_ns);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  static const option kOptions[] = {
      {"fault", required_argument, nullptr, 'f'},
      {"load", no_argument, nullptr, 'l'},
      {"requests", required_argument, nullptr, 'r'},
      {nullptr, 0, nullptr, 0}};
  Options options;
  bool is_right = true;
  int found;
  while ((found = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    if (found == 'r') {
      options.requests = strtoull(optarg, nullptr, 10);
    } else if (found == 'l') {
      // The work is the same in each run, and sleeps end in time: this switches
      // 20,000 times a second.
      options.cache_lifetime = std::chrono::hours(1);
      prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    } else {
      is_right =
          is_right && found == 'f' && faults::FindFault(optarg, &options.fault);
    }
  }
  if (!is_right || optind != argc) {
    fprintf(stderr, "Usage: server [--requests N] [--load] [--fault %s]\n",
            faults::kFaultNames);
    return 2;
  }
  const faults::Neighbour neighbour(options.fault);
  return getenv("PERFETTO_PRODUCER_SOCK_NAME") != nullptr
             ? ServeRecorded(options)
             : ServeAlone(options);
}
