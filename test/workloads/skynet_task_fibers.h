// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_TASK_FIBERS_H_
#define TEST_WORKLOADS_SKYNET_TASK_FIBERS_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/channel_op_status.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>

#include "protozero/tracing/task.h"
#include "test/workloads/skynet_fibers.h"
#include "test/workloads/skynet_tree.h"

namespace protozero::workloads {

// Compiled without instrumentation.
class NoSkynetTaskTracer {
 public:
  struct Task {};
  class Thread {
   public:
    explicit Thread(NoSkynetTaskTracer*) {}
    // Not trivial, to avoid warnings that the object is not used.
    ~Thread() {}
  };
  [[gnu::always_inline]] inline Task Spawn() { return {}; }
  [[gnu::always_inline]] inline void Run(Task) {}
  [[gnu::always_inline]] inline void Wait() {}
  [[gnu::always_inline]] inline void Wake(Task) {}
  [[gnu::always_inline]] inline void End() {}
};

// A tracer to which each node is a task.
class SkynetTaskTracer {
 public:
  using Task = protozero::Task;
  // The first step of a thread needs more stack than a fiber may have.
  class Thread {
   public:
    explicit Thread(SkynetTaskTracer*) { SwitchTask(Task()); }
    ~Thread() { SwitchTask(Task()); }
  };
  [[gnu::always_inline]] inline Task Spawn() {
    return Task::Spawn(PROTOZERO_TASK_SITE("node"));
  }
  [[gnu::always_inline]] inline void Run(Task task) { SwitchTask(task); }
  [[gnu::always_inline]] inline void Wait() {
    SwitchTask(Task(), PROTOZERO_TASK_SITE("answer"));
  }
  [[gnu::always_inline]] inline void Wake(Task task) { task.Wake(); }
  [[gnu::always_inline]] inline void End() {
    SwitchTask(Task(), TaskResult::kDone);
  }
};

// Skynet as in SkynetFibers, with the steps of its nodes, which are tasks:
//
//   spawn -> run -> spawn of a child, which runs at once
//                -> run again -> ... -> wait for an answer, if it is not there
//                -> run again -> ... -> end
template <typename Tracer, typename Stack = boost::fibers::fixedsize_stack>
class SkynetTaskFibers {
 public:
  // A sequence of steps starts over now and then, which takes 6 KB.
  static constexpr size_t kStackSize = 2 * SkynetFibers<Tracer>::kStackSize;

  SkynetTaskFibers(const SkynetTree& tree, Tracer* tracer)
      : tree_(tree), tracer_(tracer) {}

  // Returns the sum. The fibers run in this thread, and in others that steal
  // them.
  uint64_t Run() {
    Parent parent;
    StartNode(&parent, SkynetTree::kRoot);
    // This thread's own fiber is no task.
    tracer_->Run({});
    return parent.answers.value_pop();
  }

 private:
  using Task = typename Tracer::Task;

  // A node with children.
  struct Parent {
    // A power of two that is larger than the number of children, so that no
    // child has to wait.
    boost::fibers::buffered_channel<uint64_t> answers{16};
    Task task{};
    // True if it waits for an answer, perhaps for a moment longer.
    std::atomic<bool> is_waiting{false};
  };
  static_assert(SkynetTree::kBranches < 16);

  void StartNode(Parent* parent, uint64_t id) {
    const Task task = tracer_->Spawn();
    boost::fibers::fiber(
        boost::fibers::launch::dispatch, std::allocator_arg, Stack(kStackSize),
        [this, parent, id, task] {
          tracer_->Run(task);
          const uint64_t answer =
              tree_.IsLeaf(id) ? tree_.Ordinal(id) : SumOfChildren(id, task);
          if (parent->is_waiting)
            tracer_->Wake(parent->task);
          tracer_->End();
          // The last thing: then the parent may be gone.
          parent->answers.push(answer);
        })
        .detach();
  }

  uint64_t SumOfChildren(uint64_t id, Task task) {
    Parent node;
    node.task = task;
    for (uint64_t i = 0; i < SkynetTree::kBranches; ++i) {
      StartNode(&node, SkynetTree::Child(id, i));
      tracer_->Run(task);
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < SkynetTree::kBranches; ++i) {
      uint64_t answer = 0;
      if (node.answers.try_pop(answer) !=
          boost::fibers::channel_op_status::success) {
        node.is_waiting = true;
        tracer_->Wait();
        answer = node.answers.value_pop();
        node.is_waiting = false;
        tracer_->Run(task);
      }
      sum += answer;
    }
    return sum;
  }

  const SkynetTree tree_;
  Tracer* const tracer_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TASK_FIBERS_H_
