// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONTIGUOUS_MEMORY_RANGE_H_
#define INCLUDE_PROTOZERO_CONTIGUOUS_MEMORY_RANGE_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A half-open range [begin, end) of writable bytes that it does not own. A
// default-initialized range is indeterminate, like any plain pointer pair;
// write ContiguousMemoryRange{} for an invalid one.
//
// It is trivial, because callers of AppendScatteredBytes() fill arrays of
// ranges, and no constructor may run for elements that are never used.
struct ContiguousMemoryRange {
  uint8_t* begin;
  uint8_t* end;

  // Returns whether there is a chunk at all; reset() makes that false.
  bool is_valid() const { return begin != nullptr; }
  void reset() {
    begin = nullptr;
    end = nullptr;
  }
  // REQUIRES: begin and end are both null or point into one buffer.
  size_t size() const { return static_cast<size_t>(end - begin); }
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_CONTIGUOUS_MEMORY_RANGE_H_
