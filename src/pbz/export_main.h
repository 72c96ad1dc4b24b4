// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_EXPORT_MAIN_H_
#define SRC_PBZ_EXPORT_MAIN_H_

namespace pbz {

// pbz export: argv[0] is the command. Returns the exit code.
int ExportMain(int argc, char** argv);

}  // namespace pbz

#endif  // SRC_PBZ_EXPORT_MAIN_H_
