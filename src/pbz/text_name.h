// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_NAME_H_
#define SRC_PBZ_TEXT_NAME_H_

#include <string>

#include "src/pbz/schema.h"

namespace pbz {

// Returns the name of |field|, a linked field of |message|, in text format. An
// extension has its full name in brackets, a group the name of its type.
std::string TextName(const FieldType& field, const MessageType& message);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_NAME_H_
