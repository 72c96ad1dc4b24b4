// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_NAME_H_
#define SRC_PBZ_TEXT_NAME_H_

#include <string>

#include "src/pbz/schema.h"

namespace pbz {

// The name of |field|, a linked one of |message|, in text format: extensions
// have their full name in brackets, groups the name of their type.
std::string TextName(const FieldType& field, const MessageType& message);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_NAME_H_
