// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_H_
#define SRC_PZTRACE_TRACE_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

namespace pztrace {

// Where the trace goes.
//
// Nothing is held back: what Write() has returned from is in the file, so a
// reader sees it, and it stays there if this process is killed. When the file
// takes no more, it is cut behind its last whole packet, so that it can be read
// without an error, and what does not get into it is counted.
class TraceFile {
 public:
  TraceFile() = default;
  ~TraceFile();

  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // "-" is the standard output. Returns false, and has printed why, if it can
  // not be opened.
  bool Open(const std::string& path);
  // |data| is whole packets. Returns false, and has printed why, if they can
  // not be written, now or since an earlier call; then they are counted as
  // lost.
  bool Write(const uint8_t* data, size_t size);
  // Returns false, and has printed the loss, unless the file has everything.
  bool Close();

  // Whether text on the standard output would end up in the trace.
  bool is_standard_output() const;
  const std::string& name() const { return name_; }
  // Write() has returned false, or would.
  bool is_broken() const { return is_broken_; }

  // The bytes and packets in the file, with the service's own packets. Any
  // thread.
  uint64_t bytes() const { return bytes_; }
  uint64_t packets() const { return packets_; }
  // Packets and bytes that the file lacks.
  uint64_t packets_lost() const { return packets_lost_; }
  uint64_t bytes_lost() const { return bytes_lost_; }

 private:
  void Fail(const char* reason);
  // Removes the last |excess| bytes. Returns false if they can not be.
  bool Cut(size_t excess);
  // Whether the file was removed.
  bool IsRemoved() const;
  // Prints why, and takes everything for lost.
  void FailAsRemoved();

  std::string name_;
  int fd_ = -1;
  // A file without a name has none to lose.
  bool has_name_ = false;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> packets_{0};
  std::atomic<uint64_t> packets_lost_{0};
  uint64_t bytes_lost_ = 0;
  bool is_broken_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_H_
