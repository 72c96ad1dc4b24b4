// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_PACKET_COMPRESSOR_H_
#define SRC_PZTRACE_TRACE_FILE_PACKET_COMPRESSOR_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>

#include "protozero/const_bytes.h"
#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

// Gathers the packets of a trace, and makes one packet of many, as Perfetto's
// service does.
class PacketCompressor {
 public:
  // REQUIRES: the codec is built, if there is one.
  explicit PacketCompressor(const Compression& compression)
      : compression_(compression) {}

  bool is_on() const { return compression_.codec != nullptr; }
  // Returns whether the packets are as many as belong together.
  bool is_full() const { return packets_.size() >= kMaxBytes; }
  bool is_empty() const { return packets_.empty(); }

  // Adds packets in the form of a trace.
  void Add(const uint8_t* data, size_t size) {
    packets_.append(reinterpret_cast<const char*>(data), size);
  }
  // Returns the packets since the last call: as one, or unchanged if that is
  // not smaller, or if there is no memory. Adds to |counts| the number of
  // packets in each one that it returns.
  std::string Take(std::deque<uint64_t>* counts);

 private:
  // Readers of Perfetto expect compressed packets to have less than 512 KB.
  static constexpr size_t kMaxBytes = size_t{256} << 10;

  const Compression compression_;
  std::string packets_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_PACKET_COMPRESSOR_H_
