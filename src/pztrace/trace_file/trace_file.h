// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_TRACE_FILE_H_
#define SRC_PZTRACE_TRACE_FILE_TRACE_FILE_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "src/pztrace/trace_file/codec.h"
#include "src/pztrace/trace_file/packet_compressor.h"

namespace pztrace {

// The file that the trace goes to.
//
// It never waits for a reader: bytes that a pipe, a socket or a terminal does
// not take at once are kept, until WriteKept() can write them. Bytes that the
// output takes are written at once, so a reader sees them, and they stay there
// if this process is killed. When the file takes no more, it is cut after its
// last whole packet, so that it can be read without an error. All that does not
// get into it is counted.
//
// If it compresses the packets, some of them wait until there are enough, or
// for Flush().
class TraceFile {
 public:
  explicit TraceFile(const Compression& compression = {})
      : compressor_(compression) {}
  ~TraceFile();

  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Opens |path|; "-" is the standard output. A FIFO may have no reader yet.
  // Leaves the content of a file; a file that is made here is removed again
  // unless Begin() follows. Returns false, and has printed why, if it cannot be
  // opened or must not be an output.
  bool Open(const std::string& path);
  // Empties the file. Returns false, and has printed why, if it cannot. Call it
  // once, before anything is written.
  bool Begin();
  // Writes |data|, which is whole packets. Returns false, and has printed why,
  // if they cannot be written, now or since an earlier call; then they are
  // counted as lost.
  bool Write(const uint8_t* data, size_t size);
  // Writes the packets that wait to be compressed. Returns false as Write()
  // does.
  bool Flush();
  // Writes more of what is kept, as far as the output takes it. Returns false
  // as Write() does.
  bool WriteKept();
  // Waits until the output takes some of it, or a while, or for a signal.
  void WaitForReader() const;
  // Counts what is kept, and what may follow, as lost.
  void GiveUp();
  // Returns false, and has printed the loss, unless the file has everything.
  bool Close();

  // Returns whether something waits to be written.
  bool has_kept() const { return kept_begin_ != kept_.size(); }

  // Returns whether text on the standard output would end up in the trace.
  bool is_standard_output() const;
  const std::string& name() const { return name_; }
  // Returns true if Write() has returned false, or would.
  bool is_broken() const { return is_broken_; }

  // Return the bytes and packets in the file, with the service's own packets.
  // Any thread may call them.
  uint64_t bytes() const { return bytes_; }
  uint64_t packets() const { return packets_; }
  // Return the packets and bytes that the file lacks.
  uint64_t packets_lost() const { return packets_lost_; }
  uint64_t bytes_lost() const { return bytes_lost_; }

 private:
  // Records, which hold packets or are packets.
  struct Records {
    size_t bytes = 0;
    uint64_t packets = 0;
  };

  // Writes whole records. Returns false as Write() does.
  bool WriteRecords(const uint8_t* data, size_t size);
  // Counts the records that are whole. REQUIRES: they follow those of the last
  // call.
  Records Count(const uint8_t* data, size_t size);
  // Opens a FIFO that had no reader. Returns whether it is open.
  bool OpenFifo();
  // Returns how many bytes the output has taken at once; otherwise -1 and
  // errno.
  ssize_t WriteSome(const uint8_t* data, size_t size);
  // Writes whole records, of which |begun_| bytes are in the file. Returns how
  // many bytes need not be written any more.
  size_t Put(const uint8_t* data, size_t size);
  void Keep(const uint8_t* data, size_t size);
  void Lose(const uint8_t* data, size_t size);
  void Fail(const char* reason);
  // Removes the part of a packet at the end, or prints that it is there.
  void EndBehindPacket();
  // Removes the last |excess| bytes. Returns false if it cannot.
  bool Cut(size_t excess);
  // Returns whether the file was removed.
  bool IsRemoved() const;
  // Prints that the file was removed, and counts everything as lost.
  void FailAsRemoved();

  PacketCompressor compressor_;
  // The number of packets in each record that has not been counted. Empty if
  // each record is a packet.
  std::deque<uint64_t> packets_of_records_;
  std::string name_;
  // The path of a file that was made for a recording which has not begun.
  std::string unused_path_;
  int fd_ = -1;  // -1 also for a FIFO without a reader.
  mode_t mode_ = 0;
  bool is_standard_ = false;
  // True if no other process shares it, so it does not block.
  bool is_own_ = false;
  // Packets that are not in the file yet, except for the first |begun_| bytes.
  std::vector<uint8_t> kept_;
  size_t kept_begin_ = 0;
  size_t begun_ = 0;
  // False if the file has no name that it can lose.
  bool has_name_ = false;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> packets_{0};
  std::atomic<uint64_t> packets_lost_{0};
  uint64_t bytes_lost_ = 0;
  bool is_broken_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_TRACE_FILE_H_
