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

// The part of a row that one thread does.
class ShmThread {
 public:
  virtual ~ShmThread() = default;
  virtual void WritePackets(size_t count) = 0;
  // Returns the number of bytes of a packet, as the service gets them.
  virtual size_t packet_size() const = 0;
};

// The part of a row that all its threads share.
class ShmSession {
 public:
  virtual ~ShmSession() = default;
  // Makes the part for one thread. Any thread may call it.
  virtual std::unique_ptr<ShmThread> NewThread() = 0;
  // Returns the error of the run, or an empty string. A run with an error
  // measured something else. The threads wrote |packets| packets together.
  // REQUIRES: the threads are gone.
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
