// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_COMPLETION_CHAINS_OPERATION_H_
#define TEST_WORKLOADS_COMPLETION_CHAINS_OPERATION_H_

#include <stddef.h>
#include <stdint.h>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "test/workloads/completion_chains_os.h"

// A small library of asynchronous I/O: a function that starts an operation and
// tells a handler when it ends, the same for coroutines, and the memory for the
// state of an operation.

namespace protozero::workloads {

// The context of an operation for the operating system.
struct Operation {
  void (*complete)(Operation* operation, uint64_t result);
};

// Completes the operation |context|. It is the callback for the operating
// system.
inline void CompleteOperation(void* context, uint64_t result) {
  Operation* const operation = static_cast<Operation*>(context);
  operation->complete(operation, result);
}

// ---- Handlers

// An operation that tells a handler when it ends. Its memory is from the
// handler's allocator, and is given back before the handler is called. So the
// next operation, which the handler starts, can have the same memory.
template <typename Handler>
class HandlerOperation : public Operation {
 public:
  explicit HandlerOperation(Handler handler)
      : Operation{&Complete}, handler_(std::move(handler)) {}

 private:
  static void Complete(Operation* base, uint64_t result) {
    auto* const operation = static_cast<HandlerOperation*>(base);
    Handler handler(std::move(operation->handler_));
    auto allocator = handler.get_allocator();
    operation->~HandlerOperation();
    allocator.Deallocate(operation, sizeof(HandlerOperation));
    handler(result);
  }

  Handler handler_;
};

// Handler: callable with the result, movable, and has get_allocator().
template <typename Handler>
void StartOperation(uint64_t argument, Handler handler) {
  auto allocator = handler.get_allocator();
  void* const memory = allocator.Allocate(sizeof(HandlerOperation<Handler>));
  os_start_operation(static_cast<Operation*>(
                         new (memory) HandlerOperation(std::move(handler))),
                     argument);
}

// Memory for one operation at a time, for a handler that owns it.
class OperationMemory {
 public:
  void* Allocate(size_t size) {
    if (is_in_use_ || size > sizeof(bytes_))
      return ::operator new(size);
    is_in_use_ = true;
    return bytes_;
  }
  void Deallocate(void* memory) {
    if (memory == bytes_)
      is_in_use_ = false;
    else
      ::operator delete(memory);
  }

 private:
  bool is_in_use_ = false;
  alignas(std::max_align_t) unsigned char bytes_[64];
};

// An allocator for a handler that has an OperationMemory.
class CustomAllocator {
 public:
  explicit CustomAllocator(OperationMemory* memory) : memory_(memory) {}
  void* Allocate(size_t size) { return memory_->Allocate(size); }
  void Deallocate(void* memory, size_t) { memory_->Deallocate(memory); }

 private:
  OperationMemory* memory_;
};

// An allocator for a handler without memory. For each thread, it keeps the
// block that was given back last.
class RecyclingAllocator {
 public:
  static void* Allocate(size_t size) {
    if (kept_memory_ != nullptr && kept_size_ >= size)
      return std::exchange(kept_memory_, nullptr);
    return ::operator new(size);
  }
  static void Deallocate(void* memory, size_t size) {
    if (kept_memory_ != nullptr) {
      ::operator delete(memory);
      return;
    }
    kept_memory_ = memory;
    kept_size_ = size;
  }
  // Frees the block of this thread. A thread that runs a loop calls this after
  // the loop. With a destructor instead, each access would test whether the
  // destructor is registered.
  static void FreeKeptBlock() {
    ::operator delete(std::exchange(kept_memory_, nullptr));
  }

 private:
  static inline constinit thread_local void* kept_memory_ = nullptr;
  static inline constinit thread_local size_t kept_size_ = 0;
};

// ---- Coroutines

// co_await returns the result. The operation is in the coroutine's frame.
class AwaitableOperation : private Operation {
 public:
  explicit AwaitableOperation(uint64_t argument)
      : Operation{&Complete}, value_(argument) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    coroutine_ = coroutine;
    os_start_operation(static_cast<Operation*>(this), value_);
  }
  uint64_t await_resume() const noexcept { return value_; }

 private:
  static void Complete(Operation* base, uint64_t result) {
    auto* const operation = static_cast<AwaitableOperation*>(base);
    operation->value_ = result;
    operation->coroutine_.resume();
  }

  uint64_t value_;
  std::coroutine_handle<> coroutine_;
};

// A coroutine that is not waited for.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_COMPLETION_CHAINS_OPERATION_H_
