// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SHOWN_NAME_H_
#define SRC_PZTRACE_SHOWN_NAME_H_

#include <string>
#include <string_view>

namespace pztrace {

// |text| without anything that a terminal would obey.
std::string Escaped(std::string_view text);

// |name| as it may be printed. Producers choose their names, and those of data
// sources. A name has any bytes and any length; this shows the first ones.
std::string ShownName(std::string_view name);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SHOWN_NAME_H_
