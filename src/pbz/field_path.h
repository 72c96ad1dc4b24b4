// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_FIELD_PATH_H_
#define SRC_PBZ_FIELD_PATH_H_

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/schema.h"

namespace pbz {

// A field of a path. It is a field of the message before it.
struct PathStep {
  uint32_t id = 0;
  const FieldType* type = nullptr;  // Null without a schema.
};

// Parses |text|, a path that begins in a message of |type|, with dots between
// its fields: "log.requests". A field is a name, the full name of an extension
// in brackets, or a number. Without a |type|, all are numbers. All but the last
// one are messages. Returns an empty path, and says why in |error|, if there is
// no such field.
std::vector<PathStep> ParseFieldPath(std::string_view text,
                                     const MessageType* type,
                                     std::string* error);

// Returns the name that |field| has in paths.
std::string PathName(const FieldType& field);

}  // namespace pbz

#endif  // SRC_PBZ_FIELD_PATH_H_
