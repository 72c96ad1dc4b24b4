// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_MAPPING_PATH_H_
#define SRC_PZTRACE_TRACE_FILE_MAPPING_PATH_H_

#include <string>
#include <string_view>

namespace pztrace {

// Puts the path of a Mapping together, as Perfetto's trace processor does: the
// packets of symbols name the file by it. A path is one text, or its parts.
inline void AppendPathPart(std::string_view part, std::string* path) {
  if (!path->empty() || part.empty() || part[0] != '/')
    *path += '/';
  *path += part;
}

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_MAPPING_PATH_H_
