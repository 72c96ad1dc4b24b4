// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_TRACE_OUTPUT_H_
#define SRC_TRACING_LOCAL_TRACE_OUTPUT_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <string>

#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The file, or the descriptor of the program's, that a LocalTrace writes to.
class TraceOutput {
 public:
  TraceOutput() = default;
  // Closes what Open() has opened.
  ~TraceOutput();
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  // Opens a file, which becomes empty, and locks it. Returns false, and sets
  // errno, on failure: ENXIO if it is a FIFO without a reader, EBUSY if a
  // recording that goes on has the file.
  bool Open(const std::string& path);
  // Lets others have the file that Open() has locked.
  void Unlock();
  // Takes a descriptor that stays the program's.
  void Use(int fd);

  // Writes all of it. Returns false, and sets errno, on failure: EBADF if the
  // program has closed or replaced the descriptor. A file that Open() has
  // opened then ends with a whole packet. REQUIRES: |data| is whole packets.
  bool Write(const uint8_t* data, size_t size);

 private:
  bool IsOwn() const;
  // Cuts an opened file after the last whole packet of |data|, which is at its
  // end. Keeps errno.
  void RemovePartOfPacket(const uint8_t* data, size_t size);

  int fd_ = -1;
  FileIdentity identity_;
  bool is_opened_ = false;
  // The place in a file that Open() has opened; -1 if it has none.
  off_t position_ = -1;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_TRACE_OUTPUT_H_
