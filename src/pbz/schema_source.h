// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_SCHEMA_SOURCE_H_
#define SRC_PBZ_SCHEMA_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "src/pbz/schema.h"

// The schema and the type that a command line names. Errors begin with
// |program|.

namespace pbz {

// Reads a descriptor set, or has protoc compile a .proto, whose imports are
// looked for in |import_dirs|, if any, or the current directory, and in the
// file's own. Returns null, and has printed why, if there is no such schema.
std::unique_ptr<Schema> LoadSchema(const char* program,
                                   const std::string& path,
                                   const std::vector<std::string>& import_dirs);

// The message that |name| is the name of, or the end of that; without a name,
// the only one that no other refers to. Returns null, and has printed why, if
// there is none, or if it is not clear which.
const MessageType* ChooseType(const char* program,
                              const Schema& schema,
                              const std::string& name);

}  // namespace pbz

#endif  // SRC_PBZ_SCHEMA_SOURCE_H_
