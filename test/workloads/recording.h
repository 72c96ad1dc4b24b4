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
// tracing service in another process, as in real use. The service's process is
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
// There may be only one at a time, and only one thread may use it.
class Recording {
 public:
  struct Options {
    // True if there is a session that records, false if only a service.
    bool has_session = true;
    BufferExhaustedPolicy policy = BufferExhaustedPolicy::kStall;
    // The time a writer waits before it loses packets in spite of kStall.
    uint32_t stall_timeout_ms = 60000;
    // True if it records the events and tasks of this process; false for a data
    // source of its own.
    bool has_track_events = false;
    // The size of the producer's memory in bytes; 0 for the service's default.
    size_t shared_memory_size = 0;
    size_t page_size = 0;
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // The size of the service's buffer in bytes. All of the trace must fit,
    // unless it is streamed. If it does not fit, Stop() reports that.
    size_t buffer_size = size_t{256} << 20;
    // The period in which the service reads and forgets packets while others
    // are written; 0 if it reads all of them at the end. Reading takes longer
    // than writing, so a writer may have to wait.
    uint32_t read_period_ms = 0;
    // The file that the child writes the trace to, or empty.
    std::string trace_file;
    // The child calls this with each packet that has a track_event; see
    // Outcome::digest. May be null.
    std::function<uint64_t(ConstBytes packet)> digest;
  };

  // The content of the trace.
  struct Outcome {
    // The number of packets with a track_event.
    uint64_t events = 0;
    // The number of other packets from writers, such as descriptors.
    uint64_t other_packets = 0;
    // The number of events that said that packets before them are missing.
    uint64_t losses = 0;
    // The results of Options::digest, summed up modulo 2^64.
    uint64_t digest = 0;
    uint64_t bytes = 0;
    // The reason why this outcome is not reliable, or empty.
    std::string problem;
  };

  // Starts all, and waits until the data source is enabled, if there is a
  // session. Returns null and sets |problem| if something fails. REQUIRES: this
  // process has only the calling thread.
  static std::unique_ptr<Recording> Start(const Options& options,
                                          std::string* problem);
  // Ends the service, which keeps its data.
  ~Recording();

  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const std::shared_ptr<DataSource>& source() const { return source_; }

  // Flushes, ends the session, and lets the child read the trace. REQUIRES:
  // called once; the DataSourceWriters, which count losses, are gone.
  Outcome Stop();

 private:
  Recording() = default;

  pid_t child_ = -1;
  // The socket to the child.
  int channel_ = -1;
  std::shared_ptr<DataSource> source_;
  std::unique_ptr<Producer> producer_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_RECORDING_H_
