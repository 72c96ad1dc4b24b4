// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_DIVISION_CELLS_H_
#define SRC_PZTRACE_TABLES_DIVISION_CELLS_H_

#include <stdint.h>

#include <optional>
#include <tuple>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/tables/table_columns.h"

namespace pztrace {

// The cells of a slice that say how its thread spent the time. Null if that is
// unknown.
struct DivisionCells {
  std::optional<uint64_t> ran() const { return Part(&TimeDivision::ran_ns); }
  std::optional<uint64_t> ready() const {
    return Part(&TimeDivision::ready_ns);
  }
  std::optional<uint64_t> waited() const {
    return Part(&TimeDivision::waited_ns);
  }
  std::optional<uint64_t> Part(uint64_t TimeDivision::* part) const {
    return times ? std::optional((*times).*part) : std::nullopt;
  }

  std::optional<TimeDivision> times;
};

inline constexpr std::tuple kDivisionColumns{
    TableColumn{"ran",
                "how long its thread ran; null if its states are not known all "
                "the time",
                &DivisionCells::ran, Unit::kNs},
    TableColumn{"ready", "how long it could run, but had no processor",
                &DivisionCells::ready, Unit::kNs},
    TableColumn{"waited", "how long it waited", &DivisionCells::waited,
                Unit::kNs}};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_DIVISION_CELLS_H_
