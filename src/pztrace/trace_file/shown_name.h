// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_SHOWN_NAME_H_
#define SRC_PZTRACE_TRACE_FILE_SHOWN_NAME_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

namespace pztrace {

// Returns |text| without anything that a terminal would obey.
std::string Escaped(std::string_view text);

// Returns the first bytes of |name|, at most |max_size|, without a part of a
// character at their end. If that is not all, "..." follows.
std::string Cut(std::string_view name, size_t max_size);

// Returns |name| in a form that may be printed, cut if it is long. Producers
// choose their names, and those of data sources, so these have any bytes and
// any length.
std::string ShownName(std::string_view name);

// Returns a process's name, in that form, and its number: "server (12)".
std::string ShownProcess(std::string_view name, int64_t pid);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_SHOWN_NAME_H_
