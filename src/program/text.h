// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_TEXT_H_
#define SRC_PROGRAM_TEXT_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

namespace program {

// Returns whether |bytes| are UTF-8: without surrogates, code points above
// U+10FFFF, and characters in more bytes than they need.
bool IsUtf8(std::string_view bytes);

// Returns whether |bytes| are UTF-8 that can be shown unchanged: without
// control characters, other than line ends and tabs.
bool IsText(std::string_view bytes);

// Returns a text file without the U+FEFF that editors of Windows write at its
// beginning.
std::string_view WithoutByteOrderMark(std::string_view text);

// The characters that are escaped, besides quotes and all that a terminal would
// obey.
enum class Escape : bool {
  kLittle,    // None: characters beyond ASCII are shown.
  kAsProtoc,  // All that is not ASCII, like protoc.
};

// Appends |bytes| in quotes, escaped like protobuf's text format.
void AppendQuoted(std::string_view bytes,
                  std::string* out,
                  Escape escape = Escape::kLittle);

// Returns |bytes| in a form that can be shown. Escapes what a terminal would
// obey, other than line ends, and what is not UTF-8.
std::string Shown(std::string_view bytes);

// Returns |text| with U+FFFD in place of bytes that are not UTF-8.
std::string MadeUtf8(std::string_view text);

// Returns whether the byte is a later one of a character of UTF-8.
inline bool ContinuesCharacter(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

// Returns the first bytes of |text|, at most |max_size|, without a part of a
// character at their end.
std::string_view CutAtCharacter(std::string_view text, size_t max_size);

// Returns "1 packet", "2 packets" and so on.
std::string CountOf(uint64_t number, const char* noun);

// Appends a JSON string. Escapes what a terminal would obey; bytes that are not
// UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* json);

// Appends a string of JSON with its quotes, which is UTF-8. Escapes what a
// terminal would obey.
void AppendShownJson(std::string_view string, std::string* json);

// Appends the text between the quotes of a cell of CSV. Doubles quotes. Control
// characters other than tabs and line ends become \u001b and the like, and
// bytes that are not UTF-8 become U+FFFD.
void AppendCsvText(std::string_view text, std::string* csv);

// Appends |bytes| in base64, with padding.
void AppendBase64(std::string_view bytes, std::string* out);

// Returns |bytes| in hexadecimal digits.
std::string HexOf(std::string_view bytes);

// Append a number like protoc: a double in 15 digits and a float in 6, or in 17
// and 9 if the shorter form would read back as another number.
void AppendDouble(double value, std::string* out);
void AppendFloat(float value, std::string* out);

// Returns the string of protobuf's JSON for |value|, which is not finite.
std::string_view NonFiniteName(double value);

}  // namespace program

#endif  // SRC_PROGRAM_TEXT_H_
