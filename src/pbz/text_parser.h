// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_PARSER_H_
#define SRC_PBZ_TEXT_PARSER_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/schema.h"

namespace pbz {

// The result of EncodeText().
struct EncodedText {
  std::string bytes;
  // The reason why the text is not valid; empty if it is. It begins with the
  // number of a line: "3: expected a number from 0 to 4294967295, not 'many'".
  std::string error;
  // The fields that the schema lacks, in the same form. Their values are not in
  // |bytes|: they may be of a later version, or of no interest to this program.
  std::vector<std::string> left_out;
};

// Encodes a message of |type| that is written in protobuf's text format:
//
//   buffers { size_kb: 64 }  # A comment.
//   names: ["a", "b"]
//
// The message's fields are bools, integers other than sint and fixed ones,
// enums, strings, bytes and messages; there is an error for other ones. The
// text may have any bytes. REQUIRES: the schema has the types of all fields.
EncodedText EncodeText(std::string_view text, const MessageType& type);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_PARSER_H_
