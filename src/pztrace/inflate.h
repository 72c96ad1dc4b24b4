// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_INFLATE_H_
#define SRC_PZTRACE_INFLATE_H_

#include <stddef.h>

#include <string>

#include "protozero/const_bytes.h"

namespace pztrace {

// Returns whether this build of the program has zlib.
bool CanInflate();

// Appends the content of |bytes|, a zlib stream (RFC 1950). Returns false if it
// is malformed or larger than |max_size|, or if this build has no zlib. Then
// |content| may have got any bytes, at most that many.
bool Inflate(protozero::ConstBytes bytes,
             size_t max_size,
             std::string* content);

}  // namespace pztrace

#endif  // SRC_PZTRACE_INFLATE_H_
