// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_TEXT_WIDTH_H_
#define SRC_PROGRAM_TEXT_WIDTH_H_

#include <stddef.h>

#include <string_view>

namespace program {

// Returns the columns of a terminal that |text|, a line of UTF-8, takes: two
// for Chinese, Japanese and Korean characters and for emoji, none for marks on
// characters.
size_t WidthOf(std::string_view text);

// Returns the size of the first character of |text| in bytes, with the marks on
// it.
size_t CharacterSize(std::string_view text);

}  // namespace program

#endif  // SRC_PROGRAM_TEXT_WIDTH_H_
