// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PROGRAM_NAME_H_
#define SRC_PZTRACE_PROGRAM_NAME_H_

namespace pztrace {

// Its errors begin with it.
inline constexpr char kProgram[] = "pztrace";

}  // namespace pztrace

#endif  // SRC_PZTRACE_PROGRAM_NAME_H_
