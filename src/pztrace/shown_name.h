// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SHOWN_NAME_H_
#define SRC_PZTRACE_SHOWN_NAME_H_

#include <stddef.h>

#include <string>
#include <string_view>

namespace pztrace {

// |text| without anything that a terminal would obey.
std::string Escaped(std::string_view text);

// Returns the first bytes of |name|, at most |max_size|, without a part of a
// character at their end, and "..." if that is not all.
std::string Cut(std::string_view name, size_t max_size);

// |name| as it may be printed. Producers choose their names, and those of data
// sources. A name has any bytes and any length; this shows the first ones.
std::string ShownName(std::string_view name);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SHOWN_NAME_H_
