// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/shm_harness.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <mutex>
#include <string>

#include "test/benchmarks/shm_rows.h"

namespace protozero {
namespace bench {

namespace {

// The test of the iteration count takes no measurable time, as with encoders.
constexpr size_t kBatchSize = 64;

// Shared by the threads of a row while it is measured.
class Runner {
 public:
  explicit Runner(const ShmRow& row) : row_(row) {}

  // Runs on each of the row's threads. The loop waits at its beginning and at
  // its end until all threads are there.
  void Run(::benchmark::State& state) {
    std::unique_ptr<ShmThread> thread = Enter();
    while (state.KeepRunningBatch(kBatchSize))
      thread->WritePackets(kBatchSize);
    if (state.thread_index() == 0)
      state.counters["bytes"] = static_cast<double>(thread->packet_size());
    thread.reset();
    const std::string problem =
        Leave(static_cast<uint64_t>(state.iterations()));
    if (!problem.empty())
      state.SkipWithError(problem.c_str());
  }

 private:
  std::unique_ptr<ShmThread> Enter() {
    std::lock_guard<std::mutex> lock(lock_);
    if (num_threads_++ == 0) {
      session_ = row_.create();
      packets_ = 0;
    }
    return session_->NewThread();
  }

  std::string Leave(uint64_t packets) {
    std::lock_guard<std::mutex> lock(lock_);
    packets_ += packets;
    if (--num_threads_ != 0)
      return "";
    const std::string problem = session_->Check(packets_);
    session_.reset();
    return problem;
  }

  const ShmRow row_;
  std::mutex lock_;
  int num_threads_ = 0;
  uint64_t packets_ = 0;
  std::unique_ptr<ShmSession> session_;
};

}  // namespace

void RegisterShmBenchmarks() {
  for (const ShmRow& row : AllShmRows()) {
    const auto runner = std::make_shared<Runner>(row);
    const std::string name = "BM_ProtoShm_" + row.name;
    ::benchmark::RegisterBenchmark(
        name.c_str(),
        [runner](::benchmark::State& state) { runner->Run(state); })
        ->Threads(row.threads);
  }
}

}  // namespace bench
}  // namespace protozero
