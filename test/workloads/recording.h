// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_RECORDING_H_
#define TEST_WORKLOADS_RECORDING_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/shared_memory_arbiter.h"

namespace protozero::workloads {

// The surroundings of a program that traces: a data source, a producer, and the
// tracing service, in another process, as in real use. The service's process is
// a child of this one; it also reads the trace and counts its packets.
//
//   std::string problem;
//   auto recording = Recording::Start(options, &problem);
//   {
//     DataSourceWriters writers(recording->source());
//     ... work, and trace ...
//   }
//   Recording::Outcome outcome = recording->Stop();
//
// One at a time, by one thread.
class Recording {
 public:
  struct Options {
    // Whether there is a session that records, or only a service.
    bool has_session = true;
    BufferExhaustedPolicy policy = BufferExhaustedPolicy::kStall;
    // How long a writer waits before it loses packets all the same.
    uint32_t stall_timeout_ms = 60000;
    // The producer's, in bytes; 0 for the service's default.
    size_t shared_memory_size = 0;
    size_t page_size = 0;
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // The size of the service's buffer, in bytes. All of the trace has to fit,
    // unless it is streamed; if it does not, Stop() says so.
    size_t buffer_size = size_t{256} << 20;
    // If not 0, the service looks at packets this often, and forgets them,
    // while others are written, instead of when all is over. Reading takes
    // longer than writing, so a writer may have to wait.
    uint32_t read_period_ms = 0;
    // If not empty, where the child writes the trace to.
    std::string trace_file;
    // Called in the child for each packet that has a track_event, with the
    // packet; see Outcome::digest. May be null.
    std::function<uint64_t(ConstBytes packet)> digest;
  };

  // The content of the trace.
  struct Outcome {
    // Those with a track_event.
    uint64_t events = 0;
    // Those with anything else that came from writers, as descriptors.
    uint64_t other_packets = 0;
    // How many events said that something before them is missing.
    uint64_t losses = 0;
    // The results of Options::digest, summed up modulo 2^64.
    uint64_t digest = 0;
    uint64_t bytes = 0;
    // Why it is not to be relied upon, if so.
    std::string problem;
  };

  // Starts all, and waits until the data source is enabled, if it is going to
  // be. Returns null, and says why, if something fails. REQUIRES: this process
  // has no thread but the one that calls.
  static std::unique_ptr<Recording> Start(const Options& options,
                                          std::string* problem);
  // Ends the service. It keeps its data.
  ~Recording();

  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const std::shared_ptr<DataSource>& source() const { return source_; }

  // Flushes, ends the session, and has the trace read. REQUIRES: called once;
  // the DataSourceWriters, which count losses, are gone.
  Outcome Stop();

 private:
  Recording() = default;

  pid_t child_ = -1;
  // To the child.
  int channel_ = -1;
  std::shared_ptr<DataSource> source_;
  std::unique_ptr<Producer> producer_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_RECORDING_H_
