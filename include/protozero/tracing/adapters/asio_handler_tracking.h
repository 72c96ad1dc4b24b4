// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_ASIO_HANDLER_TRACKING_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_ASIO_HANDLER_TRACKING_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <atomic>
#include <new>
#include <string_view>
#include <utility>

#include "protozero/tracing/internal/task_follower.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

// Handlers of Asio as tasks. Asio includes this header where a macro says so,
// which must be the same in all files of a program. With CMake, for Asio and
// for Boost.Asio:
//
//   add_compile_definitions(ASIO_CUSTOM_HANDLER_TRACKING=
//       "protozero/tracing/adapters/asio_handler_tracking.h")
//   add_compile_definitions(BOOST_ASIO_CUSTOM_HANDLER_TRACKING=
//       "protozero/tracing/adapters/asio_handler_tracking.h")
//
// The program stays as it is. A handler is spawned where its operation is
// started, with a name such as "socket.async_receive" or "io_context.post". It
// waits for the operation, runs, and ends:
//
//   socket.async_receive(buffer, handler)  spawn, and wait at the same site
//   the bytes are there                    wake, if a reactor finds them
//   handler(error, size)                   run, and end
//
// It ends as cancelled if its operation was, as failed if it throws, and as
// destroyed if it is never called. What a handler starts is spawned by its
// task. So the operations of a session are a chain.
//
// A site has the file and line where the operation was started if Asio knows
// them: from use_awaitable_t<>(), and from ASIO_HANDLER_LOCATION in a function
// that starts operations. Of several, it is the outermost one:
//
//   ASIO_HANDLER_LOCATION((__FILE__, __LINE__, __func__));
//   asio::async_read(socket, buffer, handler);
//
// A handler grows by 16 bytes. Nothing takes a lock. A site is allocated when
// it is used first; a program has up to 1,024 of them.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Says that operations which the thread starts meanwhile are at this place,
// unless an outer one says another.
class AsioLocation {
 public:
  AsioLocation(const char* file, int line, const char*) noexcept
      : file_(file), line_(static_cast<uint32_t>(line)) {
    if (file != nullptr && outermost_ == nullptr)
      outermost_ = this;
  }
  ~AsioLocation() {
    if (outermost_ == this)
      outermost_ = nullptr;
  }
  AsioLocation(const AsioLocation&) = delete;
  AsioLocation& operator=(const AsioLocation&) = delete;

  // Returns null if there is none.
  static const AsioLocation* Outermost() { return outermost_; }
  const char* file() const { return file_; }
  uint32_t line() const { return line_; }

 private:
  static inline thread_local const AsioLocation* outermost_ = nullptr;
  const char* const file_;
  const uint32_t line_;
};

// The sites of handlers. Asio has the texts at run time only.
class AsioSites {
 public:
  // Returns the site of an operation that is started here. REQUIRES: the texts
  // live forever, as Asio's do.
  static TaskSite& Find(const char* object_type, const char* operation) {
    const AsioLocation* const at = AsioLocation::Outermost();
    return Find(object_type, operation, at != nullptr ? at->file() : "",
                at != nullptr ? at->line() : 0);
  }
  // Returns the site of that place. Without an operation, the object type is
  // its name.
  static TaskSite& Find(const char* object_type,
                        const char* operation,
                        const char* file,
                        uint32_t line) {
    const Key key = {object_type, operation, file, line};
    for (size_t i = 0; i < kMaxProbes; ++i) {
      std::atomic<Site*>& slot = sites_[(key.Hash() + i) % kNumSites];
      Site* site = slot.load(std::memory_order_acquire);
      if (site == nullptr)
        site = Add(key, &slot);
      if (site != nullptr && site->key == key)
        return site->site;
    }
    return other_;
  }

 private:
  struct Key {
    const char* object_type;
    const char* operation;
    const char* file;
    uint32_t line;

    bool operator==(const Key& other) const {
      return object_type == other.object_type && operation == other.operation &&
             file == other.file && line == other.line;
    }
    uint64_t Hash() const {
      uint64_t hash = line;
      for (const char* text : {object_type, operation, file})
        hash = (hash ^ reinterpret_cast<uintptr_t>(text)) * 0x9e3779b97f4a7c15;
      return hash >> 40;
    }
  };
  struct Site {
    explicit Site(const Key& its_key)
        : key(its_key), site(name, key.file, key.line) {
      snprintf(name, sizeof(name), "%s%s%s", key.object_type,
               *key.operation != '\0' ? "." : "", key.operation);
    }
    const Key key;
    char name[64];
    TaskSite site;
  };
  static constexpr size_t kNumSites = 1024;
  static constexpr size_t kMaxProbes = 16;

  // Returns what is in the slot then.
  PROTOZERO_NOINLINE static Site* Add(const Key& key,
                                      std::atomic<Site*>* slot) {
    Site* const site = new (std::nothrow) Site(key);
    Site* before = nullptr;
    if (site == nullptr ||
        slot->compare_exchange_strong(before, site, std::memory_order_release,
                                      std::memory_order_acquire)) {
      return site;
    }
    delete site;
    return before;
  }

  static inline std::atomic<Site*> sites_[kNumSites] = {};
  // The site of those that have no room.
  static inline TaskSite other_{"asio", "", 0};
};

// The base of Asio's objects that hold a handler.
class AsioHandler {
 public:
  // Says that the handler's operation is started.
  void Create(const char* object_type, const char* operation) noexcept {
    TaskSite& site = AsioSites::Find(object_type, operation);
    // Others, such as "post", make the handler ready at once.
    task_ = std::string_view(operation).substr(0, 6) == "async_"
                ? Task::SpawnWaiting(site)
                : Task::Spawn(site);
    follower_ = TaskFollower::Spawn();
  }

  // Says that a reactor has tried the operation.
  template <typename ErrorCode>
  void HasTried(const ErrorCode& error) const noexcept {
    if (error.value() != EWOULDBLOCK)
      task_.Wake();
  }

  Task task() const { return task_; }
  // Returns what follows the task, once.
  TaskFollower TakeFollower() const { return std::move(follower_); }

 protected:
  AsioHandler() = default;
  ~AsioHandler() = default;

 private:
  Task task_;
  mutable TaskFollower follower_;
};

// The completion of an operation, which may call its handler.
class AsioCompletion {
 public:
  explicit AsioCompletion(const AsioHandler& handler) noexcept
      : task_(handler.task()), follower_(handler.TakeFollower()) {}
  ~AsioCompletion() {
    // The handler has thrown, or is destroyed without a call.
    if (is_running_)
      SwitchTask(before_, TaskResult::kFailed);
    else if (task_)
      task_.End(TaskResult::kDestroyed);
  }
  AsioCompletion(const AsioCompletion&) = delete;
  AsioCompletion& operator=(const AsioCompletion&) = delete;

  void Begin() noexcept {
    if (!task_)
      return;
    before_ = Task::Running();
    SwitchTask(task_);
    follower_.Resume();
    is_running_ = true;
  }
  template <typename ErrorCode, typename... Args>
  void Begin(const ErrorCode& error, const Args&...) noexcept {
    if (error.value() == ECANCELED)
      result_ = TaskResult::kCancelled;
    Begin();
  }
  void End() noexcept {
    if (is_running_)
      SwitchTask(before_, result_);
    follower_.End();
    is_running_ = false;
    task_ = Task();
  }

 private:
  Task task_;
  Task before_;
  TaskFollower follower_;
  TaskResult result_ = TaskResult::kDone;
  bool is_running_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

// For Asio's macros, which put their arguments in brackets.
#define PROTOZERO_INTERNAL_ASIO_CREATE(context, handler, object_type, object, \
                                       native_handle, operation)              \
  (handler).PROTOZERO_INTERNAL_NS::internal::AsioHandler::Create(object_type, \
                                                                 operation)
#define PROTOZERO_INTERNAL_ASIO_TRIED(handler, name, error, ...) \
  (handler).PROTOZERO_INTERNAL_NS::internal::AsioHandler::HasTried(error)

#if defined(ASIO_CUSTOM_HANDLER_TRACKING)
#define ASIO_INHERIT_TRACKED_HANDLER : public PROTOZERO_INTERNAL_NS::internal::AsioHandler
#define ASIO_ALSO_INHERIT_TRACKED_HANDLER \
  , public PROTOZERO_INTERNAL_NS::internal::AsioHandler
#define ASIO_HANDLER_TRACKING_INIT static_cast<void>(0)
#define ASIO_HANDLER_LOCATION(args) \
  PROTOZERO_INTERNAL_NS::internal::AsioLocation protozero_asio_location args
#define ASIO_HANDLER_CREATION(args) PROTOZERO_INTERNAL_ASIO_CREATE args
#define ASIO_HANDLER_COMPLETION(args) \
  PROTOZERO_INTERNAL_NS::internal::AsioCompletion protozero_asio_completion args
#define ASIO_HANDLER_INVOCATION_BEGIN(args) protozero_asio_completion.Begin args
#define ASIO_HANDLER_INVOCATION_END protozero_asio_completion.End()
#define ASIO_HANDLER_OPERATION(args) static_cast<void>(0)
#define ASIO_HANDLER_REACTOR_REGISTRATION(args) static_cast<void>(0)
#define ASIO_HANDLER_REACTOR_DEREGISTRATION(args) static_cast<void>(0)
#define ASIO_HANDLER_REACTOR_READ_EVENT 0
#define ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define ASIO_HANDLER_REACTOR_EVENTS(args) static_cast<void>(0)
#define ASIO_HANDLER_REACTOR_OPERATION(args) PROTOZERO_INTERNAL_ASIO_TRIED args
#endif

#if defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#define BOOST_ASIO_INHERIT_TRACKED_HANDLER \
  : public PROTOZERO_INTERNAL_NS::internal::AsioHandler
#define BOOST_ASIO_ALSO_INHERIT_TRACKED_HANDLER \
  , public PROTOZERO_INTERNAL_NS::internal::AsioHandler
#define BOOST_ASIO_HANDLER_TRACKING_INIT static_cast<void>(0)
#define BOOST_ASIO_HANDLER_LOCATION(args) \
  PROTOZERO_INTERNAL_NS::internal::AsioLocation protozero_asio_location args
#define BOOST_ASIO_HANDLER_CREATION(args) PROTOZERO_INTERNAL_ASIO_CREATE args
#define BOOST_ASIO_HANDLER_COMPLETION(args) \
  PROTOZERO_INTERNAL_NS::internal::AsioCompletion protozero_asio_completion args
#define BOOST_ASIO_HANDLER_INVOCATION_BEGIN(args) \
  protozero_asio_completion.Begin args
#define BOOST_ASIO_HANDLER_INVOCATION_END protozero_asio_completion.End()
#define BOOST_ASIO_HANDLER_OPERATION(args) static_cast<void>(0)
#define BOOST_ASIO_HANDLER_REACTOR_REGISTRATION(args) static_cast<void>(0)
#define BOOST_ASIO_HANDLER_REACTOR_DEREGISTRATION(args) static_cast<void>(0)
#define BOOST_ASIO_HANDLER_REACTOR_READ_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_EVENTS(args) static_cast<void>(0)
#define BOOST_ASIO_HANDLER_REACTOR_OPERATION(args) \
  PROTOZERO_INTERNAL_ASIO_TRIED args
#endif

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_ASIO_HANDLER_TRACKING_H_
