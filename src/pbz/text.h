// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_H_
#define SRC_PBZ_TEXT_H_

#include <stdint.h>

#include <string>
#include <string_view>

namespace pbz {

// Whether |bytes| are UTF-8: neither surrogates, nor more than U+10FFFF, nor
// more bytes than a character needs.
bool IsUtf8(std::string_view bytes);

// Whether |bytes| are UTF-8 that can be shown as it is: without control
// characters, other than line ends and tabs.
bool IsText(std::string_view bytes);

// The characters that are escaped, beside quotes and all that a terminal would
// obey.
enum class Escape : bool {
  kLittle,    // Nothing: characters beyond ASCII are shown.
  kAsProtoc,  // As protoc does it: all that is not ASCII.
};

// Appends |bytes| in quotes, escaped as in protobuf's text format.
void AppendQuoted(std::string_view bytes,
                  std::string* out,
                  Escape escape = Escape::kLittle);

// |bytes| as they can be shown: what a terminal would obey, and what is no
// UTF-8, is escaped, line ends aside.
std::string Shown(std::string_view bytes);

// |text|, with U+FFFD for bytes that are no UTF-8.
std::string MadeUtf8(std::string_view text);

// Returns whether the byte is in a character of UTF-8, and not its first one.
inline bool ContinuesCharacter(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

// "1 packet", "2 packets".
std::string CountOf(uint64_t number, const char* noun);

// Appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* json);

// Appends what is between the quotes of a cell of CSV. Quotes are there twice;
// control characters, tabs and line ends aside, become \u001b and the like, and
// bytes that are no UTF-8 U+FFFD.
void AppendCsvText(std::string_view text, std::string* csv);

// Appends |bytes| in base64, with padding.
void AppendBase64(std::string_view bytes, std::string* out);

// Append a number as protoc does: a double in 15 digits and a float in 6, or in
// 17 and 9 if the shorter form would read back as another number.
void AppendDouble(double value, std::string* out);
void AppendFloat(float value, std::string* out);

// The string that protobuf's JSON has for |value|, which is not finite.
std::string_view NonFiniteName(double value);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_H_
