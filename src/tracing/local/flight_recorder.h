// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_FLIGHT_RECORDER_H_
#define SRC_TRACING_LOCAL_FLIGHT_RECORDER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <string>

#include "protozero/tracing/data_source.h"
#include "protozero/tracing/loss_reason.h"
#include "src/tracing/ipc/producer_ipc_client.h"
#include "src/tracing/ipc/scoped_fd.h"
#include "src/tracing/writer/flight_header.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A session of this process alone: threads write to the ring in a file, which
// has the last packets at any time, also if the process is killed. There is no
// service, no thread, and no system call once threads have their writers. In a
// child process, after fork(), nothing is recorded.
class FlightRecorder {
 public:
  FlightRecorder() = default;
  // Calls Stop().
  ~FlightRecorder() { Stop(); }

  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // Begins to record |source| into a file that MakeFlightFile() makes; if
  // |path| is empty, into memory. Returns false on failure, with the reason in
  // |error|. May throw std::bad_alloc. Call it once.
  bool Start(const std::string& path,
             size_t size,
             std::shared_ptr<DataSource> source,
             DataSourceConfig config,
             std::string* error);
  // Ends the session. Packets that were finished before are in the file.
  void Stop();

  // Writes a file as it would be left if the process was killed now. Returns
  // false, and sets errno, on failure. Raises no signal. Any thread;
  // async-signal-safe.
  bool Snapshot(const char* path) const;

  bool has_started() const { return header_ != nullptr; }
  // Returns the size of the file's ring, and the packets that threads have
  // overwritten, or could not write. REQUIRES, for both: has_started().
  size_t size() const {
    return size_t{header_->page_size} * header_->num_pages;
  }
  PacketLosses losses() const { return LossesOf(*header_); }

 private:
  // Writes the file. Return false, and set errno, on failure.
  bool Save(const char* path) const;
  // Opens an empty file for it.
  bool OpenEmpty(const char* path, ScopedFd* file) const;

  std::shared_ptr<DataSource> source_;
  std::shared_ptr<internal::ProducerIpcClient> connection_;
  std::shared_ptr<DataSourceInstance> instance_;
  // The header, in the memory that |connection_| keeps.
  FlightHeader* header_ = nullptr;
  FileIdentity file_;
  // Room for a page, for the one Snapshot() that is under way.
  std::unique_ptr<uint8_t[]> page_;
  mutable std::atomic<bool> is_in_snapshot_{false};
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_RECORDER_H_
