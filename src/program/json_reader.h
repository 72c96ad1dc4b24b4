// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_JSON_READER_H_
#define SRC_PROGRAM_JSON_READER_H_

#include <string_view>

#include "src/program/value_sink.h"

namespace program {

// The limit of objects and lists in each other. A deeper one becomes null, or
// is not taken for JSON.
inline constexpr int kMaxJsonDepth = 32;

// Gives the value of the JSON in |text| to |sink|. Returns false if it is not
// JSON or nests more than |max_depth| containers: then |sink| has got the
// values before the error.
bool ReadJson(std::string_view text,
              ValueSink* sink,
              int max_depth = kMaxJsonDepth);

// Returns whether ReadJson() takes the text.
bool IsJson(std::string_view text);

}  // namespace program

#endif  // SRC_PROGRAM_JSON_READER_H_
