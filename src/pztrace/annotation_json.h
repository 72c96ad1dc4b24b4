// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_ANNOTATION_JSON_H_
#define SRC_PZTRACE_ANNOTATION_JSON_H_

#include <stdint.h>

#include <map>
#include <string>

#include "protozero/const_bytes.h"

namespace pztrace {

// What annotations of a sequence refer to.
struct AnnotationStrings {
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, std::string> values;
};

// Appends a DebugAnnotation as a member of a JSON object, with a comma in front
// of it if there is one already. What is malformed is null.
void AppendMember(protozero::ConstBytes annotation,
                  const AnnotationStrings& strings,
                  std::string* members);

}  // namespace pztrace

#endif  // SRC_PZTRACE_ANNOTATION_JSON_H_
