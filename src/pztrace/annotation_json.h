// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_ANNOTATION_JSON_H_
#define SRC_PZTRACE_ANNOTATION_JSON_H_

#include <string>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"

namespace pztrace {

// Appends a DebugAnnotation of |event| as a member of a JSON object, with a
// comma in front of it if there is one already. What is malformed is null.
void AppendMember(protozero::ConstBytes annotation,
                  const protozero::EventArgs& event,
                  std::string* members);

}  // namespace pztrace

#endif  // SRC_PZTRACE_ANNOTATION_JSON_H_
