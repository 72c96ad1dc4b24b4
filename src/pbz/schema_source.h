// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_SCHEMA_SOURCE_H_
#define SRC_PBZ_SCHEMA_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "src/pbz/schema.h"

// Loads the schema and finds the type that a command line names. Errors begin
// with |program|.

namespace pbz {

// Reads a descriptor set, or makes protoc compile a .proto. Its imports are
// looked for in |import_dirs|, or without any in the current directory, and in
// the file's own. Returns null, and has printed why, if there is no such
// schema.
std::unique_ptr<Schema> LoadSchema(const char* program,
                                   const std::string& path,
                                   const std::vector<std::string>& import_dirs);

// Returns the message that has the full name |name|, or one that ends in it.
// Without a name, returns the only message that no other refers to. Returns
// null, and has printed why, if there is none, or if several fit.
const MessageType* ChooseType(const char* program,
                              const Schema& schema,
                              const std::string& name);

}  // namespace pbz

#endif  // SRC_PBZ_SCHEMA_SOURCE_H_
