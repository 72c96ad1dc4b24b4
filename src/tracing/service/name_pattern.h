// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_NAME_PATTERN_H_
#define SRC_TRACING_SERVICE_NAME_PATTERN_H_

#include <stddef.h>

#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Returns whether the name fits the pattern, in which '*' stands for any text.
inline bool IsLike(std::string_view name, std::string_view pattern) {
  size_t star = std::string_view::npos;
  size_t retry = 0;
  size_t p = 0;
  for (size_t n = 0; n < name.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_NAME_PATTERN_H_
