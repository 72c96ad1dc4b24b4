// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_THREADS_H_
#define TEST_WORKLOADS_SKYNET_THREADS_H_

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <future>
#include <thread>

#include "test/workloads/skynet_tree.h"

// Skynet with a thread for each node, to compare fibers with. The variants make
// the thread in different ways. Each variant starts a thread with a function
// that returns the node's answer, and waits for it.

namespace protozero::workloads {

// A thread with a stack of the system's default size.
class StdThread {
 public:
  template <typename Function>
  void Start(Function function) {
    thread_ = std::thread([this, function] { answer_ = function(); });
  }
  uint64_t Join() {
    thread_.join();
    return answer_;
  }

 private:
  std::thread thread_;
  uint64_t answer_ = 0;
};

class StdAsync {
 public:
  template <typename Function>
  void Start(Function function) {
    answer_ = std::async(std::launch::async, function);
  }
  uint64_t Join() { return answer_.get(); }

 private:
  std::future<uint64_t> answer_;
};

// A thread with the smallest possible stack. It has more than the published
// eight kilobytes, because the system refuses less than a signal handler may
// need.
class SmallPthread {
 public:
  template <typename Function>
  void Start(Function function) {
    // Static, so that no node pays for making the attributes.
    static const Attributes attributes;
    struct Call {
      Function function;
      uint64_t* answer;
    };
    Call* const call = new Call{function, &answer_};
    const int error = pthread_create(
        &thread_, attributes.get(),
        [](void* argument) -> void* {
          Call* const started = static_cast<Call*>(argument);
          *started->answer = started->function();
          delete started;
          return nullptr;
        },
        call);
    if (error != 0)
      Fail();
  }
  uint64_t Join() {
    if (pthread_join(thread_, nullptr) != 0)
      Fail();
    return answer_;
  }

 private:
  class Attributes {
   public:
    Attributes() {
      const long size = sysconf(_SC_THREAD_STACK_MIN);
      if (size <= 0 || pthread_attr_init(&attributes_) != 0 ||
          pthread_attr_setstacksize(&attributes_, static_cast<size_t>(size)) !=
              0)
        Fail();
    }
    const pthread_attr_t* get() const { return &attributes_; }

   private:
    pthread_attr_t attributes_;
  };

  [[noreturn]] static void Fail() {
    fputs("no thread can be made\n", stderr);
    exit(1);
  }

  pthread_t thread_ = {};
  uint64_t answer_ = 0;
};

template <typename Tracer, typename Thread>
class SkynetThreads {
 public:
  SkynetThreads(const SkynetTree& tree, Tracer* tracer)
      : tree_(tree), tracer_(tracer) {}

  uint64_t Run() {
    Thread root;
    StartNode(&root, SkynetTree::kRoot);
    return root.Join();
  }

 private:
  void StartNode(Thread* thread, uint64_t id) {
    thread->Start([this, id] {
      typename Tracer::Thread traced(tracer_);
      return Compute(id);
    });
  }

  uint64_t Compute(uint64_t id) {
    tracer_->Begin(id);
    uint64_t sum = 0;
    if (tree_.IsLeaf(id)) {
      sum = tree_.Ordinal(id);
    } else {
      std::array<Thread, SkynetTree::kBranches> children;
      for (uint64_t i = 0; i < SkynetTree::kBranches; ++i)
        StartNode(&children[i], SkynetTree::Child(id, i));
      for (Thread& child : children)
        sum += child.Join();
    }
    tracer_->End(id);
    return sum;
  }

  const SkynetTree tree_;
  Tracer* const tracer_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_THREADS_H_
