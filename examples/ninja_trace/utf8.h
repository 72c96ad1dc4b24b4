// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_UTF8_H_
#define EXAMPLES_NINJA_TRACE_UTF8_H_

#include <string>
#include <string_view>

namespace ninja_trace {

// Returns |text| with everything that is not UTF-8 replaced by U+FFFD. Names of
// files may be any bytes; string fields of protobuf are UTF-8, and some parsers
// refuse a message with other bytes.
std::string MakeValidUtf8(std::string_view text);

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_UTF8_H_
