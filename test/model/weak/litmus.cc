// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The classic tests of memory models. They say which relaxed outcomes the
// checker shows, and that it shows no others.

#include <atomic>
#include <string>

#include "test/model/weak/checker.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// Two locations, and what the threads have loaded, in order.
struct Litmus {
  std::atomic<int> x{0};
  std::atomic<int> y{0};
  int loaded[4] = {9, 9, 9, 9};
  int num_loaded = 4;
  void End() const {
    std::string text;
    for (int i = 0; i < num_loaded; ++i)
      text += static_cast<char>('0' + loaded[i]);
    Observe(text);
  }
};

template <std::memory_order store, std::memory_order load>
struct MessagePassing : Litmus {
  MessagePassing() { num_loaded = 2; }
  void Run(int thread) {
    if (thread == 0) {
      x.store(1, memory_order_relaxed);
      y.store(1, store);
    } else {
      loaded[0] = y.load(load);
      loaded[1] = x.load(memory_order_relaxed);
    }
  }
};

struct MessagePassingByFences : Litmus {
  MessagePassingByFences() { num_loaded = 2; }
  void Run(int thread) {
    if (thread == 0) {
      x.store(1, memory_order_relaxed);
      std::atomic_thread_fence(memory_order_release);
      y.store(1, memory_order_relaxed);
    } else {
      loaded[0] = y.load(memory_order_relaxed);
      std::atomic_thread_fence(memory_order_acquire);
      loaded[1] = x.load(memory_order_relaxed);
    }
  }
};

// A release sequence: the store is read through another thread's addition.
struct ReleaseSequence : Litmus {
  ReleaseSequence() { num_loaded = 2; }
  void Run(int thread) {
    if (thread == 0) {
      x.store(1, memory_order_relaxed);
      y.store(1, memory_order_release);
    } else if (thread == 1) {
      y.fetch_add(2, memory_order_relaxed);
    } else {
      loaded[0] = y.load(memory_order_acquire);
      loaded[1] = x.load(memory_order_relaxed);
    }
  }
};

template <std::memory_order store, std::memory_order load, bool has_fence>
struct StoreBuffering : Litmus {
  StoreBuffering() { num_loaded = 2; }
  void Run(int thread) {
    (thread == 0 ? x : y).store(1, store);
    if (has_fence)
      std::atomic_thread_fence(memory_order_seq_cst);
    loaded[thread] = (thread == 0 ? y : x).load(load);
  }
};

// One side has no fence, but the other one executes a barrier for both.
struct StoreBufferingByBarrier : Litmus {
  StoreBufferingByBarrier() { num_loaded = 2; }
  void Run(int thread) {
    (thread == 0 ? x : y).store(1, memory_order_relaxed);
    if (thread == 0)
      ProcessBarrier();
    loaded[thread] = (thread == 0 ? y : x).load(memory_order_relaxed);
  }
};

struct LoadBuffering : Litmus {
  LoadBuffering() { num_loaded = 2; }
  void Run(int thread) {
    loaded[thread] = (thread == 0 ? x : y).load(memory_order_relaxed);
    (thread == 0 ? y : x).store(1, memory_order_relaxed);
  }
};

template <std::memory_order store>
struct TwoPlusTwoWrites : Litmus {
  TwoPlusTwoWrites() { num_loaded = 0; }
  void Run(int thread) {
    (thread == 0 ? x : y).store(1, store);
    (thread == 0 ? y : x).store(2, store);
  }
  void End() const {
    Observe(std::to_string(x.load()) + std::to_string(y.load()));
  }
};

// Two readers of independent writes, each in the other order.
template <std::memory_order store, std::memory_order load>
struct IndependentReads : Litmus {
  void Run(int thread) {
    if (thread < 2) {
      (thread == 0 ? x : y).store(1, store);
      return;
    }
    loaded[2 * thread - 4] = (thread == 2 ? x : y).load(load);
    loaded[2 * thread - 3] = (thread == 2 ? y : x).load(load);
  }
};

struct ReadsOfOneLocation : Litmus {
  ReadsOfOneLocation() { num_loaded = 2; }
  void Run(int thread) {
    if (thread == 0) {
      x.store(1, memory_order_relaxed);
      x.store(2, memory_order_relaxed);
    } else {
      loaded[0] = x.load(memory_order_relaxed);
      loaded[1] = x.load(memory_order_relaxed);
    }
  }
};

struct Additions : Litmus {
  Additions() { num_loaded = 2; }
  void Run(int thread) {
    loaded[thread] = x.fetch_add(1, memory_order_relaxed);
  }
};

// One that modifies does not miss a store that it has been told of.
struct PlainMessage {
  int data = 0;
  std::atomic<int> flag{0};
  std::memory_order order = memory_order_release;
  void Run(int thread) {
    if (thread == 0) {
      data = 1;
      flag.store(1, order);
    } else if (flag.load(memory_order_acquire) == 1) {
      Check(data == 1, "the message is there");
    }
  }
  void End() {}
};
struct UnorderedPlainMessage : PlainMessage {
  UnorderedPlainMessage() { order = memory_order_relaxed; }
};

template <typename T>
LitmusTest Make(const char* name, int num_threads, const char* outcomes) {
  return {MakeScenario<T>(name, num_threads), outcomes};
}

constexpr const char* kAll = "00 01 10 11";
constexpr const char* kReadsInAnyOrder =
    "0000 0001 0010 0011 0100 0101 0110 0111 "
    "1000 1001 1010 1011 1100 1101 1110 1111";
constexpr const char* kReadsInOneOrder =
    "0000 0001 0010 0011 0100 0101 0110 0111 "
    "1000 1001 1011 1100 1101 1110 1111";

}  // namespace

std::vector<LitmusTest> LitmusTests() {
  constexpr auto kRelaxed = memory_order_relaxed;
  constexpr auto kAcquire = memory_order_acquire;
  constexpr auto kRelease = memory_order_release;
  constexpr auto kSeqCst = memory_order_seq_cst;
  return {
      Make<MessagePassing<kRelaxed, kRelaxed>>("MP", 2, kAll),
      Make<MessagePassing<kRelease, kRelaxed>>("MP+rel", 2, kAll),
      Make<MessagePassing<kRelaxed, kAcquire>>("MP+acq", 2, kAll),
      Make<MessagePassing<kRelease, kAcquire>>("MP+rel+acq", 2, "00 01 11"),
      Make<MessagePassingByFences>("MP+fences", 2, "00 01 11"),
      Make<ReleaseSequence>("MP+rel+rmw+acq", 3, "00 01 11 20 21 31"),
      Make<StoreBuffering<kRelaxed, kRelaxed, false>>("SB", 2, kAll),
      Make<StoreBuffering<kRelease, kAcquire, false>>("SB+rel+acq", 2, kAll),
      Make<StoreBuffering<kSeqCst, kSeqCst, false>>("SB+sc", 2, "01 10 11"),
      Make<StoreBuffering<kRelaxed, kRelaxed, true>>("SB+fences", 2,
                                                     "01 10 11"),
      Make<StoreBufferingByBarrier>("SB+membarrier", 2, "01 10 11"),
      // The model has no load of what is stored later.
      Make<LoadBuffering>("LB", 2, "00 01 10"),
      Make<TwoPlusTwoWrites<kRelaxed>>("2+2W", 2, "11 12 21 22"),
      Make<TwoPlusTwoWrites<kRelease>>("2+2W+rel", 2, "11 12 21 22"),
      Make<TwoPlusTwoWrites<kSeqCst>>("2+2W+sc", 2, "12 21 22"),
      Make<IndependentReads<kRelease, kAcquire>>("IRIW+rel+acq", 4,
                                                 kReadsInAnyOrder),
      Make<IndependentReads<kSeqCst, kSeqCst>>("IRIW+sc", 4, kReadsInOneOrder),
      Make<ReadsOfOneLocation>("CoRR", 2, "00 01 02 11 12 22"),
      Make<Additions>("RMW", 2, "01 10"),
      Make<PlainMessage>("plain MP+rel+acq", 2, ""),
      Make<UnorderedPlainMessage>("plain MP", 2, kDataRace),
  };
}

}  // namespace protozero::weak
