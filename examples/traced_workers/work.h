// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_TRACED_WORKERS_WORK_H_
#define EXAMPLES_TRACED_WORKERS_WORK_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

// Something for the workers to do. All of it depends on its arguments only.

namespace traced_workers {

// A text of |size| bytes, the same for the same |seed|.
std::string MakeText(uint64_t seed, size_t size);

// Literals, and references to earlier text, by up to 64 KiB.
std::string Compress(std::string_view text);
// The inverse. Empty if |compressed| is not what Compress() returns.
std::string Decompress(std::string_view compressed);

// How many primes there are below |limit|.
size_t CountPrimes(size_t limit);

}  // namespace traced_workers

#endif  // EXAMPLES_TRACED_WORKERS_WORK_H_
