// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_DIFFERENCE_PAGE_H_
#define SRC_PZTRACE_PAGE_DIFFERENCE_PAGE_H_

#include <string>
#include <vector>

#include "src/pztrace/compare/run_table.h"

namespace pztrace {

// Returns an HTML page with a flame graph of the difference, which needs
// nothing but a browser. |rows| are those of ComparePaths(). The page begins
// with the |summary|, and ends with the |notes|.
std::string MakeDifferencePage(const RunTable& table,
                               const std::vector<ComparedRow>& rows,
                               const std::string& summary,
                               const std::vector<std::string>& notes,
                               RunComparer* comparer);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_DIFFERENCE_PAGE_H_
