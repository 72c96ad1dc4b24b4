// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_ANNOTATION_JSON_H_
#define SRC_PZTRACE_ANNOTATION_JSON_H_

#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/schema.h"
#include "src/pztrace/arg_texts.h"

namespace pztrace {

// Returns the text of |entry|, a message of InternedData. "?" if it is null,
// which is nothing that a sequence has interned.
std::string_view InternedText(protozero::ConstBytes entry);

// The schema of arguments. Without it, as at first, only those are read that
// each trace has.
struct ArgSchema {
  const pbz::ExtendedSchema* messages = nullptr;
  const pbz::MessageType* event = nullptr;  // TrackEvent.
};

// Appends a DebugAnnotation of |event| as a member of a JSON object. What is
// malformed is null. A message that the schema does not have is its type and
// its bytes, as protobuf's JSON has an Any: {"@type":"a.B","value":"CAE="}
void AppendMember(protozero::ConstBytes annotation,
                  const protozero::EventArgs& event,
                  const ArgSchema& schema,
                  ArgTexts* texts,
                  std::string* members);

}  // namespace pztrace

#endif  // SRC_PZTRACE_ANNOTATION_JSON_H_
