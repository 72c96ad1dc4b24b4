// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_NUMBERED_PACKETS_H_
#define TEST_TRACING_NUMBERED_PACKETS_H_

#include <stdint.h>

#include <map>
#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/message.h"

namespace protozero::test {

// Packets whose content follows from two numbers: messages nested up to six
// deep, of all sizes from a few bytes to |max_size|, so that who has received
// one knows what it should be. A stream is what one thread writes, in the order
// of |index|.
void WriteNumberedPacket(uint32_t stream,
                         uint32_t index,
                         uint32_t max_size,
                         Message* packet);

// Checks what has become of them in a trace.
class PacketChecker {
 public:
  struct Stream {
    uint64_t received = 0;
    uint32_t next_index = 0;
    // How often something is missing before a packet.
    uint64_t gaps = 0;
  };

  explicit PacketChecker(uint32_t max_size) : max_size_(max_size) {}

  // Records of Perfetto's Trace. Packets that are not numbered are left out.
  void AddTrace(std::string_view trace);
  // A packet that is torn, changed, duplicate, out of order, or that does not
  // say that something is missing before it, is an error.
  void AddPacket(ConstBytes packet);

  const std::map<uint32_t, Stream>& streams() const { return streams_; }
  uint64_t received() const;
  // The first few, and how many there are.
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
