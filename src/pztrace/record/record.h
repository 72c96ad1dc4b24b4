// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORD_H_
#define SRC_PZTRACE_RECORD_RECORD_H_

#include "src/pztrace/record/record_options.h"

namespace pztrace {

// Serves producers, and the command, until the command ends, the time is up, or
// the user interrupts. Returns false, and has printed why, if there is no
// trace, if it is not whole and that counts, or if the command failed.
bool Record(const RecordOptions& options);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORD_H_
