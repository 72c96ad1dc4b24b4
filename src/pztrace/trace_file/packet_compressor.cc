// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/packet_compressor.h"

#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace pztrace {

using protozero::ConstBytes;

std::string PacketCompressor::Take(std::deque<uint64_t>* counts) {
  std::string packets = std::exchange(packets_, {});
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(packets.data()),
                         packets.size());
  protozero::ProtoDecoder decoder(bytes);
  uint64_t count = 0;
  while (decoder.ReadField())
    ++count;
  std::string compressed;
  if (compression_.codec->library.compress(bytes, compression_.level,
                                           &compressed)) {
    protozero::HeapBuffered<protozero::trace::Trace> trace;
    trace->add_packet()->AppendBytes(compression_.codec->field_id,
                                     compressed.data(), compressed.size());
    std::string packet = trace.SerializeAsString();
    if (packet.size() < packets.size()) {
      counts->push_back(count);
      return packet;
    }
  }
  counts->insert(counts->end(), count, 1);
  return packets;
}

}  // namespace pztrace
