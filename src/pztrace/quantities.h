// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_QUANTITIES_H_
#define SRC_PZTRACE_QUANTITIES_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

// Times and sizes as the command line has them. These functions return the
// problem with |text|, the value of |option|, or an empty string if there is
// none.

namespace pztrace {

// "10", "1.5s", "200ms" or "2m"; at least a millisecond.
std::string ParseMilliseconds(std::string_view option,
                              const std::string& text,
                              uint32_t* milliseconds);

// "10", "1.5s", "200ms", "30us" or "5ns"; 0 is one, too.
std::string ParseNanoseconds(std::string_view option,
                             const std::string& text,
                             uint64_t* nanoseconds);

// |from| and |to|, the values of --from and --to, which leave the time as it is
// if they are empty. |from_ns| has to be before |to_ns|.
std::string ParseTimeRange(const std::string& from,
                           const std::string& to,
                           uint64_t* from_ns,
                           uint64_t* to_ns);

// "1000", "500k", "64M" or "1G"; at least a byte, and less than the service
// allows for a buffer.
std::string ParseSize(std::string_view option,
                      const std::string& text,
                      size_t* bytes);

// "100M" or "60s": one of them, and 0 for the other. A unit is needed, and "m"
// is none, because that could be both.
std::string ParseSizeOrMilliseconds(std::string_view option,
                                    const std::string& text,
                                    size_t* bytes,
                                    uint32_t* milliseconds);

}  // namespace pztrace

#endif  // SRC_PZTRACE_QUANTITIES_H_
