// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_EXTENSION_ARGS_H_
#define SRC_PZTRACE_EVENTS_EXTENSION_ARGS_H_

#include <stdint.h>

#include "protozero/const_bytes.h"
#include "src/pbz/schema.h"
#include "src/pztrace/events/arg_encoder.h"

namespace pztrace {

// Adds the extensions in |bytes|, a message of |type|, as members of a
// dictionary: "[pkg.name]":value, with the values of `pbz export`. Does nothing
// with a malformed message. Returns the number of extensions that |type| lacks.
uint64_t AddExtensions(protozero::ConstBytes bytes,
                       const pbz::MessageType& type,
                       ArgEncoder* args);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_EXTENSION_ARGS_H_
