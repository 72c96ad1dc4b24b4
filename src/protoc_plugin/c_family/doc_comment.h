// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_DOC_COMMENT_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_DOC_COMMENT_H_

#include <string>

namespace protozero::plugin {

// Returns lines of `///` for a comment of the schema; none for a blank one.
// Breaks long lines. The lines are always comments without warnings: bytes that
// are not UTF-8, control characters, characters that change the direction of
// text, and ends of lines that would continue in the next line become question
// marks.
std::string DocComment(const std::string& comment, const std::string& indent);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_DOC_COMMENT_H_
