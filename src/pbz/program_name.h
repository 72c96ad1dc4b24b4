// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_PROGRAM_NAME_H_
#define SRC_PBZ_PROGRAM_NAME_H_

namespace pbz {

// The program's name, with which its errors begin.
inline constexpr char kProgram[] = "pbz";

}  // namespace pbz

#endif  // SRC_PBZ_PROGRAM_NAME_H_
