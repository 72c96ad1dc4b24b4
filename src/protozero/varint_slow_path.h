// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_VARINT_SLOW_PATH_H_
#define SRC_PROTOZERO_VARINT_SLOW_PATH_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Calls proto_utils::WriteVarInt() out of line, where small code is better than
// fast code.
PROTOZERO_COLD uint8_t* WriteVarIntSlowPath(uint64_t value,
                                            uint8_t* dst) noexcept;

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_VARINT_SLOW_PATH_H_
