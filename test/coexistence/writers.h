// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_COEXISTENCE_WRITERS_H_
#define TEST_COEXISTENCE_WRITERS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

// Each function returns the output of one library of a program, written by its
// own classes. The library's part of the program exports only this function.
constexpr int kMessages = 1000;

std::string WriteByOurs();
std::string WriteByOursInPlace();
std::string WriteByOursDebug();
std::string WriteByPerfetto();
std::string WriteByMapbox();

// Fills a packet of either library. Both call the class `TracePacket` and have
// setters of the same names.
template <typename TracePacket>
void FillPacket(TracePacket* packet, int i) {
  packet->set_timestamp(uint64_t{1209600} * 1000000000 + uint64_t(i) * 1001);
  packet->set_trusted_uid(-i);
  packet->set_sequence_flags(2);
  auto* const event = packet->set_track_event();
  event->set_track_uuid(0x4e6f776865726521u + uint64_t(i));
  event->add_category_iids(uint64_t(i) & 7);
  event->set_name(std::string(size_t(i) % 300, 'n'));
  auto* const annotation = event->add_debug_annotations();
  annotation->set_name("depth");
  annotation->set_int_value(-i);
}

// Writes each message once to a buffer that it fits, and once to slices that it
// does not fit.
template <typename Fixed, typename Heap>
std::string WriteMessages() {
  std::string bytes;
  for (int i = 0; i < kMessages; ++i) {
    uint8_t buffer[1024];
    Fixed fixed(buffer, sizeof(buffer));
    FillPacket(fixed.get(), i);
    bytes.append(reinterpret_cast<const char*>(buffer), fixed.Finalize());

    Heap heap(32, 64);
    FillPacket(heap.get(), i);
    bytes += heap.SerializeAsString();
  }
  return bytes;
}

#endif  // TEST_COEXISTENCE_WRITERS_H_
