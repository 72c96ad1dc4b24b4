// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_FIELD_PATH_H_
#define SRC_PBZ_FIELD_PATH_H_

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/schema.h"

namespace pbz {

// A field of a path, which its predecessor's message has.
struct PathStep {
  uint32_t id = 0;
  const FieldType* type = nullptr;  // Null without a schema.
};

// Parses |text|, fields from a message of |type| on, with dots between them:
// "log.requests". A field is a name, the full name of an extension in brackets,
// or a number. Without a |type|, all are numbers. All but the last one are
// messages. Returns an empty path, and says why in |error|, if there is no such
// field.
std::vector<PathStep> ParseFieldPath(std::string_view text,
                                     const MessageType* type,
                                     std::string* error);

// The name of |field| in paths.
std::string PathName(const FieldType& field);

}  // namespace pbz

#endif  // SRC_PBZ_FIELD_PATH_H_
