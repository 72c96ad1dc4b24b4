// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_ASYNC_SERVER_COROUTINE_H_
#define EXAMPLES_ASYNC_SERVER_COROUTINE_H_

#include <coroutine>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>

#include "protozero/tracing/adapters/traced_coroutine.h"

// The parts of the server's coroutines. Each coroutine is a task: its promise
// is a TracedPromise, and the code that resumes it calls Wake().

namespace async_server {

// A coroutine that is not waited for: a member function whose first parameter
// is the place where it is spawned. It destroys itself at its end.
class Job {
 public:
  class promise_type;
  using Handle = std::coroutine_handle<promise_type>;
  class promise_type : public protozero::TracedPromise {
   public:
    template <typename Object, typename... Args>
    promise_type(Object&, protozero::TaskSite& site, Args&&...)
        : TracedPromise(site) {
      const std::lock_guard<std::mutex> lock(unfinished_lock);
      unfinished.insert(Handle::from_promise(*this).address());
    }
    ~promise_type() {
      const std::lock_guard<std::mutex> lock(unfinished_lock);
      unfinished.erase(Handle::from_promise(*this).address());
    }
    Job get_return_object() { return Job(Handle::from_promise(*this)); }
    auto initial_suspend() { return TraceInitial(std::suspend_always()); }
    auto final_suspend() noexcept { return TraceFinal(std::suspend_never()); }
    void return_void() {}
    // A connection that breaks ends its coroutine.
    void unhandled_exception() { SetFailed(); }
  };

  // Has a thread of the pool begin it.
  void StartOn(boost::asio::io_context& pool) {
    boost::asio::post(pool, [handle = handle_] { handle.resume(); });
  }

  // Destroys the coroutines that have not ended. REQUIRES: no thread runs any.
  static void DestroyUnfinished() {
    std::set<void*> all;
    {
      const std::lock_guard<std::mutex> lock(unfinished_lock);
      all = unfinished;
    }
    for (void* const coroutine : all)
      Handle::from_address(coroutine).destroy();
  }

 private:
  explicit Job(Handle handle) : handle_(handle) {}

  static inline std::mutex unfinished_lock;
  static inline std::set<void*> unfinished;
  Handle handle_;
};
using JobHandle = Job::Handle;

// Makes a coroutine ready: the next free thread of the pool resumes it.
inline void Resume(boost::asio::io_context& pool, JobHandle job) {
  job.promise().task().Wake();
  boost::asio::post(pool, [job] { job.resume(); });
}

// Awaits an asynchronous operation of asio. |Start| takes a function that it
// calls with an error and perhaps a number.
template <typename Start>
class Operation {
 public:
  Operation(boost::asio::io_context& pool, Start start)
      : pool_(pool), start_(std::move(start)) {}

  bool await_ready() const { return false; }
  void await_suspend(JobHandle job) {
    start_([this, job](boost::system::error_code error, size_t number = 0) {
      error_ = error;
      number_ = number;
      Resume(pool_, job);
    });
  }
  size_t await_resume() const {
    if (error_)
      throw boost::system::system_error(error_);
    return number_;
  }

 private:
  boost::asio::io_context& pool_;
  Start start_;
  boost::system::error_code error_;
  size_t number_ = 0;
};

// A mutex that coroutines wait for, not threads.
class Mutex {
 public:
  explicit Mutex(boost::asio::io_context& pool) : pool_(pool) {}

  auto Lock() {
    struct Awaiter {
      bool await_ready() const { return false; }
      bool await_suspend(JobHandle job) {
        const std::lock_guard<std::mutex> lock(mutex->lock_);
        if (!std::exchange(mutex->is_locked_, true))
          return false;
        mutex->waiting_.push_back(job);
        return true;
      }
      void await_resume() const {}
      Mutex* mutex;
    };
    return Awaiter{this};
  }
  // |forgets_to_wake| plants a fault: the next coroutine has the lock, and does
  // not learn of it.
  void Unlock(bool forgets_to_wake = false) {
    JobHandle next;
    {
      const std::lock_guard<std::mutex> lock(lock_);
      if (waiting_.empty()) {
        is_locked_ = false;
        return;
      }
      next = waiting_.front();
      waiting_.pop_front();
    }
    if (!forgets_to_wake)
      Resume(pool_, next);
  }

 private:
  boost::asio::io_context& pool_;
  std::mutex lock_;
  bool is_locked_ = false;
  std::deque<JobHandle> waiting_;
};

}  // namespace async_server

#endif  // EXAMPLES_ASYNC_SERVER_COROUTINE_H_
