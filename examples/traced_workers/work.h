// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_TRACED_WORKERS_WORK_H_
#define EXAMPLES_TRACED_WORKERS_WORK_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

// The work of the threads. All results depend on the arguments only.

namespace traced_workers {

// Returns a text of |size| bytes, the same for the same |seed|.
std::string MakeText(uint64_t seed, size_t size);

// Returns literals, and references to text up to 64 KiB before.
std::string Compress(std::string_view text);
// Reverses Compress(). Returns an empty text if |compressed| is not its result.
std::string Decompress(std::string_view compressed);

// Returns how many primes there are below |limit|.
size_t CountPrimes(size_t limit);

}  // namespace traced_workers

#endif  // EXAMPLES_TRACED_WORKERS_WORK_H_
