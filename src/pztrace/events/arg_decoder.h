// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_ARG_DECODER_H_
#define SRC_PZTRACE_EVENTS_ARG_DECODER_H_

#include <string_view>

#include "src/program/value_sink.h"
#include "src/pztrace/events/arg_encoder.h"

namespace pztrace {

// The names that may be in a dictionary only once: equal texts or, if the sink
// tells names that programs chose from those of fields, equal texts of a kind.
enum class UniqueNames : bool { kByText, kByKind };

// Gives |args|, which ArgEncoder has encoded with |texts|, to |sink|: members
// of a dictionary. If a name is repeated, the last value counts, but
// dictionaries are merged, and arrays continue. A shared text is "..." if there
// are so many that they would be much longer than |args|.
void DecodeArgs(std::string_view args,
                const ArgTexts& texts,
                UniqueNames unique_names,
                program::ValueSink* sink);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_ARG_DECODER_H_
