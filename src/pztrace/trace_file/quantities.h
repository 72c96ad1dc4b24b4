// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_QUANTITIES_H_
#define SRC_PZTRACE_TRACE_FILE_QUANTITIES_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <string>
#include <string_view>

// Times and sizes on the command line. These functions return the problem with
// |text|, the value of |option|, or an empty string if there is none. A time is
// a number of seconds, or one with a unit from ns to h. A size is a number of
// bytes, or one with k, M or G.

namespace pztrace {

// The largest buffer. TraceConfig's size_kb limits it, and so does the size of
// an object.
inline constexpr size_t kMaxBufferSize = static_cast<size_t>(
    std::min<uint64_t>(uint64_t{UINT32_MAX} * 1024, PTRDIFF_MAX));

// Parses a time of at least a millisecond.
std::string ParseMilliseconds(std::string_view option,
                              const std::string& text,
                              uint32_t* milliseconds);

// Parses a time, which may be 0.
std::string ParseNanoseconds(std::string_view option,
                             const std::string& text,
                             uint64_t* nanoseconds);

// Parses |from| and |to|, the values of --from and --to. Keeps a time if its
// text is empty. |from_ns| has to be before |to_ns|.
std::string ParseTimeRange(const std::string& from,
                           const std::string& to,
                           uint64_t* from_ns,
                           uint64_t* to_ns);

// Parses a size of at least a byte, and less than the service allows for a
// buffer.
std::string ParseSize(std::string_view option,
                      const std::string& text,
                      size_t* bytes);

// Parses a size or a time, and sets the other one to 0. The text needs a unit.
// "m" is not allowed, because it could be both.
std::string ParseSizeOrMilliseconds(std::string_view option,
                                    const std::string& text,
                                    size_t* bytes,
                                    uint32_t* milliseconds);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_QUANTITIES_H_
