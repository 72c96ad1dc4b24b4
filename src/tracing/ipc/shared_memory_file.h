// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_SHARED_MEMORY_FILE_H_
#define SRC_TRACING_IPC_SHARED_MEMORY_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <utility>

#include "protozero/tracing/shared_memory.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Memory that two processes share. Neither can change its size: if one made it
// shorter, an access of the other would crash.
class SharedMemoryFile final : public SharedMemory {
 public:
  // Creates memory, all zero. Returns null if |size| is 0, or on failure, with
  // the reason in |error| (which may be null). Raises no signal, whatever the
  // limits of the process are.
  static std::unique_ptr<SharedMemoryFile> Create(size_t size,
                                                  std::string* error = nullptr);
  // Creates a file of that content, which is not there yet, in |folder|, a
  // descriptor, or AT_FDCWD. Only its user can read it. All of its room on the
  // disk is taken now, so that no store to the memory fails later. Otherwise
  // the same; sets errno.
  static std::unique_ptr<SharedMemoryFile> CreateAt(int folder,
                                                    const std::string& path,
                                                    size_t size,
                                                    std::string* error);
  // Maps the memory of another process, and keeps no descriptor. Returns null
  // if |fd| is not memory, if its size is 0 or more than |max_size|, or if
  // |needs_seals| and the size is not sealed.
  static std::unique_ptr<SharedMemoryFile> Attach(ScopedFd fd,
                                                  size_t max_size,
                                                  bool needs_seals);

  ~SharedMemoryFile() override;
  SharedMemoryFile(const SharedMemoryFile&) = delete;
  SharedMemoryFile& operator=(const SharedMemoryFile&) = delete;

  uint8_t* start() const override { return start_; }
  size_t size() const override { return size_; }
  // Returns the descriptor of a file that was created; -1 if there is none.
  int fd() const { return fd_.get(); }
  // Gives away the descriptor, for another process. The memory stays mapped.
  ScopedFd TakeFd() { return std::move(fd_); }

  // Has the kernel provide part of the memory, without changing its content,
  // while others use it. Does nothing if the kernel cannot, or has none.
  // REQUIRES: |offset| is less than size().
  void Provide(size_t offset, size_t size) const;

  // Gives part of the memory back to the kernel: it is zero afterwards. Returns
  // false, and changes nothing, if the kernel cannot. REQUIRES: both are
  // multiples of 4 KiB, and within the memory.
  bool GiveBack(size_t offset, size_t size) const;

  // Replaces, in a child process, the memory that it shares with its parent's
  // service by zeros of its own. Safe in a handler of fork().
  void DetachAfterFork() const;

 private:
  SharedMemoryFile(uint8_t* start, size_t size) : start_(start), size_(size) {}
  static std::unique_ptr<SharedMemoryFile> Map(const ScopedFd& fd, size_t size);

  ScopedFd fd_;
  uint8_t* const start_;
  const size_t size_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_SHARED_MEMORY_FILE_H_
