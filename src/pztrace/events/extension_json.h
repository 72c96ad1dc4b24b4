// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_EXTENSION_JSON_H_
#define SRC_PZTRACE_EVENTS_EXTENSION_JSON_H_

#include <string>

#include "protozero/const_bytes.h"
#include "src/pbz/schema.h"
#include "src/pztrace/events/arg_texts.h"

namespace pztrace {

// Appends the extensions in |bytes|, a message of |type|, as members of a JSON
// object, with a comma in front of each if there is a member already:
// "[pkg.name]":value, in the form of `pbz export`. Does nothing with a
// malformed message.
void AppendExtensions(protozero::ConstBytes bytes,
                      const pbz::MessageType& type,
                      ArgTexts* texts,
                      std::string* members);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_EXTENSION_JSON_H_
