// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "test/coexistence/writers.h"

// Mapbox's library has no generated classes. This writes the fields of
// FillPacket(), and all of them once more while it reads them.
std::string WriteByMapbox() {
  std::string bytes;
  for (int i = 0; i < kMessages; ++i) {
    std::string packet;
    protozero::pbf_writer writer(packet);
    writer.add_uint64(8, uint64_t{1209600} * 1000000000 + uint64_t(i) * 1001);
    writer.add_int32(3, -i);
    writer.add_uint32(13, 2);
    {
      protozero::pbf_writer event(writer, 11);
      event.add_uint64(11, 0x4e6f776865726521u + uint64_t(i));
      event.add_uint64(3, uint64_t(i) & 7);
      event.add_string(23, std::string(size_t(i) % 300, 'n'));
    }
    bytes += packet;

    protozero::pbf_reader reader(packet);
    protozero::pbf_writer copy(bytes);
    while (reader.next()) {
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint:
          copy.add_uint64(reader.tag(), reader.get_uint64());
          break;
        default:
          copy.add_bytes(reader.tag(), reader.get_view());
      }
    }
  }
  return bytes;
}
