// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_H_
#define SRC_PBZ_TEXT_H_

#include <string>
#include <string_view>

namespace pbz {

// Whether |bytes| are UTF-8: neither surrogates, nor more than U+10FFFF, nor
// more bytes than a character needs.
bool IsUtf8(std::string_view bytes);

// Whether |bytes| are UTF-8 that can be shown as it is: without control
// characters, other than line ends and tabs.
bool IsText(std::string_view bytes);

// Appends |bytes| in quotes, escaped as in protobuf's text format. What is
// UTF-8 and can be shown remains; nothing that a terminal would obey does.
void AppendQuoted(std::string_view bytes, std::string* out);

// Append a number in as few digits as read back as the same number, as
// protobuf's text format has it.
void AppendDouble(double value, std::string* out);
void AppendFloat(float value, std::string* out);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_H_
