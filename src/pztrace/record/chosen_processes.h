// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_CHOSEN_PROCESSES_H_
#define SRC_PZTRACE_RECORD_CHOSEN_PROCESSES_H_

#include <stdint.h>

#include <vector>

namespace pztrace {

// Returns false, and has printed why, if one of the processes can never be
// recorded: there is none of that number, or, unless |has_address|, it belongs
// to another user or does not use the library. A process that has just begun
// gets a few seconds. |has_address| is true if programs are told the
// recorder's address, which then may be of another user or of Perfetto's SDK.
bool CanBeRecorded(const std::vector<int32_t>& pids, bool has_address);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_CHOSEN_PROCESSES_H_
