// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_FIBERS_H_
#define TEST_WORKLOADS_SKYNET_FIBERS_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>

#include "test/workloads/skynet_tree.h"

namespace protozero::workloads {

// Skynet with a fiber of Boost.Fiber for each node. A node sends its answer to
// its parent through a channel.
//
// A new fiber runs at once, and its maker waits in the queue. So a leaf is gone
// before its next sibling is made. At any time, at most the inner nodes and one
// leaf in each thread have a stack.
//
// Stack is one of Boost's allocators of stacks. The default takes blocks from
// the program's allocator.
template <typename Tracer, typename Stack = boost::fibers::fixedsize_stack>
class SkynetFibers {
 public:
#if defined(__OPTIMIZE__)
  // Two pages.
  static constexpr size_t kStackSize = 8 * 1024;
#else
  // Without optimization, far more data is on the stack.
  static constexpr size_t kStackSize = 32 * 1024;
#endif

  SkynetFibers(const SkynetTree& tree, Tracer* tracer)
      : tree_(tree), tracer_(tracer) {}

  // Returns the sum. The fibers run in this thread, and in others that steal
  // them.
  uint64_t Run() {
    Channel sum(kChannelCapacity);
    StartNode(&sum, SkynetTree::kRoot);
    return sum.value_pop();
  }

 private:
  using Channel = boost::fibers::buffered_channel<uint64_t>;
  // A power of two that is larger than the number of a node's children, so that
  // no child has to wait.
  static constexpr size_t kChannelCapacity = 16;
  static_assert(kChannelCapacity > SkynetTree::kBranches);

  void StartNode(Channel* answer, uint64_t id) {
    boost::fibers::fiber(boost::fibers::launch::dispatch, std::allocator_arg,
                         Stack(kStackSize),
                         [this, answer, id] { answer->push(Compute(id)); })
        .detach();
  }

  uint64_t Compute(uint64_t id) {
    tracer_->Begin(id);
    uint64_t sum = 0;
    if (tree_.IsLeaf(id)) {
      sum = tree_.Ordinal(id);
    } else {
      Channel answers(kChannelCapacity);
      for (uint64_t i = 0; i < SkynetTree::kBranches; ++i)
        StartNode(&answers, SkynetTree::Child(id, i));
      for (uint64_t i = 0; i < SkynetTree::kBranches; ++i)
        sum += answers.value_pop();
    }
    tracer_->End(id);
    return sum;
  }

  const SkynetTree tree_;
  Tracer* const tracer_;
};

// This thread and others, which take fibers from each other when they have
// none. Boost's scheduler allows only one such group in the life of a process.
template <typename Tracer>
class WorkStealingThreads {
 public:
  WorkStealingThreads(uint32_t num_threads, Tracer* tracer) {
    for (uint32_t i = 1; i < num_threads; ++i) {
      threads_.emplace_back([this, num_threads, tracer] {
        typename Tracer::Thread traced(tracer);
        TakePart(num_threads);
        std::unique_lock<boost::fibers::mutex> lock(lock_);
        over_.wait(lock, [this] { return is_over_; });
      });
    }
    TakePart(num_threads);
  }

  ~WorkStealingThreads() {
    {
      std::unique_lock<boost::fibers::mutex> lock(lock_);
      is_over_ = true;
    }
    over_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }

  WorkStealingThreads(const WorkStealingThreads&) = delete;
  WorkStealingThreads& operator=(const WorkStealingThreads&) = delete;

 private:
  static void TakePart(uint32_t num_threads) {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(
        num_threads);
  }

  boost::fibers::mutex lock_;
  boost::fibers::condition_variable over_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_FIBERS_H_
