// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_FNV1A_H_
#define SRC_PROGRAM_FNV1A_H_

#include <stdint.h>

#include <string_view>

namespace program {

// Returns the hash FNV-1a of the bytes, equal in each run and on each machine.
// |hash| is that of the bytes before them.
inline uint64_t Fnv1a(std::string_view bytes,
                      uint64_t hash = 0xcbf29ce484222325) {
  for (const char byte : bytes)
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace program

#endif  // SRC_PROGRAM_FNV1A_H_
