// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_TASK_SPANS_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_TASK_SPANS_H_

#include <atomic>
#include <new>

#include "protozero/otlp/trace_context.h"
#include "protozero/tracing/internal/task_follower.h"

#include "protozero/internal/macros.h"

// Lets the current span of OpenTelemetry follow the tasks that the other
// adapters make, wherever they run. A program says so once, before it spawns
// tasks:
//
//   int main() {
//     FollowTasksWithSpans();
//     ...
//   }
//
//   Job Serve(Connection connection) {  // A coroutine of a TracedPromise
//     const otlp::Span span = tracer.StartSpan("request");
//     const otlp::Scope scope(span.context());
//     co_await connection.Read();
//     tracer.StartSpan("query");  // A child of "request", on any thread.
//   }
//
// A task begins with the span that its creator worked for. It follows whether a
// session records tasks or not. A task takes one allocation more then, and
// two stores of a thread's variable a run. A coroutine of Asio loses its span
// at a wait with `use_awaitable`: use TracedAwaitable().
//
// Without an adapter, an otlp::TaskContext does it.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The span that a task works for: first its creator's.
struct SpanOfTask : FollowedTask {
  explicit SpanOfTask(const otlp::SpanContext& creator) : first(creator) {
    if (first.IsValid())
      value = &first;
  }
  const otlp::SpanContext first;

  static FollowedTask* Spawn() noexcept {
    return new (std::nothrow) SpanOfTask(otlp::CurrentContext());
  }
  static const void* Exchange(const void* context) noexcept {
    const void* const before = otlp::internal::current_context;
    otlp::internal::SetCurrentContext(
        static_cast<const otlp::SpanContext*>(context));
    return before;
  }
  static const void* Current() noexcept {
    return otlp::internal::current_context;
  }
  static void End(FollowedTask* task) noexcept {
    delete static_cast<SpanOfTask*>(task);
  }
  static constexpr TaskFollowing MakeFollowing() {
    return {&Spawn, &Exchange, &Current, &End};
  }
};
inline constexpr TaskFollowing kFollowWithSpans = SpanOfTask::MakeFollowing();

}  // namespace internal

// Lets the current span follow all tasks that are spawned from now on.
inline void FollowTasksWithSpans() noexcept {
  internal::g_task_following.store(&internal::kFollowWithSpans,
                                   std::memory_order_relaxed);
}

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_TASK_SPANS_H_
