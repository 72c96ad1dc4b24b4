// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_ANNOTATION_JSON_H_
#define SRC_PZTRACE_ANNOTATION_JSON_H_

#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/arg_texts.h"

namespace pztrace {

// Returns the text of |entry|, a message of InternedData. "?" if it is null,
// which is nothing that a sequence has interned.
std::string_view InternedText(protozero::ConstBytes entry);

// Appends a DebugAnnotation of |event| as a member of a JSON object. What is
// malformed is null.
void AppendMember(protozero::ConstBytes annotation,
                  const protozero::EventArgs& event,
                  ArgTexts* texts,
                  std::string* members);

}  // namespace pztrace

#endif  // SRC_PZTRACE_ANNOTATION_JSON_H_
