// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_NUMBERED_PACKETS_H_
#define TEST_TRACING_NUMBERED_PACKETS_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/message.h"

namespace protozero::test {

// Writes a packet with a content that follows from two numbers, so that a
// receiver knows what it should be. It has messages nested up to six deep, of
// all sizes from a few bytes to |max_size|. A stream is the packets of one
// thread, in the order of |index|. Calls |pause|, if there is one, now and then
// in the middle of the packet.
void WriteNumberedPacket(uint32_t stream,
                         uint32_t index,
                         uint32_t max_size,
                         Message* packet,
                         const std::function<void()>& pause = nullptr);

// Checks the numbered packets in a trace.
class PacketChecker {
 public:
  struct Stream {
    uint64_t received = 0;
    uint32_t next_index = 0;
    // The number of packets that come after a loss.
    uint64_t gaps = 0;
  };

  explicit PacketChecker(uint32_t max_size) : max_size_(max_size) {}

  // Adds records of Perfetto's Trace. Leaves out packets that are not numbered.
  void AddTrace(std::string_view trace);
  // Adds a packet. It is an error if the packet is torn, changed, duplicate or
  // out of order, or does not say that something is missing before it.
  void AddPacket(ConstBytes packet);

  const std::map<uint32_t, Stream>& streams() const { return streams_; }
  uint64_t received() const;
  // Return the first few errors, and how many there are.
  const std::string& errors() const { return errors_; }
  uint64_t num_errors() const { return num_errors_; }

 private:
  void Error(const std::string& error);

  const uint32_t max_size_;
  std::map<uint32_t, Stream> streams_;
  std::string errors_;
  uint64_t num_errors_ = 0;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_NUMBERED_PACKETS_H_
