// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_IDS_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_IDS_H_

#include <stdint.h>

#include <string_view>

#include "protozero/internal/macros.h"

// The numbers of tracks, which have to be unique in a trace of several
// processes.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

class TrackAccess;

// FNV-1a.
inline constexpr uint64_t kFnvOffset = 0xcbf29ce484222325;
inline constexpr uint64_t kFnvPrime = 0x100000001b3;
constexpr uint64_t HashByte(uint64_t hash, uint8_t byte) {
  return (hash ^ byte) * kFnvPrime;
}
constexpr uint64_t HashText(uint64_t hash, std::string_view text) {
  for (const char c : text)
    hash = HashByte(hash, static_cast<uint8_t>(c));
  return hash;
}
constexpr uint64_t HashNumber(uint64_t hash, uint64_t number) {
  for (int i = 0; i < 64; i += 8)
    hash = HashByte(hash, static_cast<uint8_t>(number >> i));
  return hash;
}

constexpr uint64_t HashTrack(uint64_t id, std::string_view name) {
  return HashNumber(HashText(kFnvOffset, name), id);
}
// The id that distinguishes a counter from another track of its name.
inline constexpr uint64_t kCounterId = 0x636f756e746572;

// Returns a number of this process, and of no other one on this machine: a hash
// of its id and start time and, in a container, of its PID namespace. Outside
// of containers, Perfetto's SDK uses the same number.
uint64_t ProcessUuid();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACK_EVENT_IDS_H_
