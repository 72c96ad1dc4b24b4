// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_DOC_COMMENT_H_
#define SRC_PROTOC_PLUGIN_CPP_DOC_COMMENT_H_

#include <string>

namespace protozero::plugin {

// Lines of `///` for a comment of the schema; none for one that is blank. Long
// lines are broken. Whatever the comment has in it, the lines are comments and
// give no warning: what would continue in the next line, bytes that are not
// UTF-8, control characters, and those that change the direction of text, come
// out as question marks.
std::string DocComment(const std::string& comment, const std::string& indent);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_DOC_COMMENT_H_
