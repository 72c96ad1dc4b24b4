// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The costs of writing trace packets into shared memory: the rows of
// BM_ProtoShm_*.

#ifndef TEST_BENCHMARKS_SHM_ROWS_H_
#define TEST_BENCHMARKS_SHM_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace protozero {
namespace bench {

// One thread's part of a row.
class ShmThread {
 public:
  virtual ~ShmThread() = default;
  virtual void WritePackets(size_t count) = 0;
  // The bytes of a packet, as the service gets them.
  virtual size_t packet_size() const = 0;
};

// Shared by the threads of a row.
class ShmSession {
 public:
  virtual ~ShmSession() = default;
  // Any thread.
  virtual std::unique_ptr<ShmThread> NewThread() = 0;
  // To be called when the threads are gone. Returns the error of the run, or an
  // empty string: a run with an error measured something else. |packets| were
  // written by all threads.
  virtual std::string Check(uint64_t packets) = 0;
};

struct ShmRow {
  // <Workload>_<Variant>.
  std::string name;
  int threads;
  std::function<std::unique_ptr<ShmSession>()> create;
};

std::vector<ShmRow> AllShmRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_SHM_ROWS_H_
