// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_NAME_H_
#define SRC_PBZ_TEXT_NAME_H_

#include <string>

#include "src/pbz/schema.h"

namespace pbz {

// What text format calls |field|, a linked one of |message|: extensions by
// their full name in brackets, groups by that of their type.
std::string TextName(const FieldType& field, const MessageType& message);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_NAME_H_
