// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_SVG_TEXT_H_
#define SRC_PZTRACE_PAGE_SVG_TEXT_H_

#include <stddef.h>

#include <string>
#include <string_view>

namespace pztrace {

// The width of a letter in pixels. It is exact for slices: their font has
// letters of one width.
inline constexpr double kLetter = 6.7;

// Appends up to 255 characters.
__attribute__((format(printf, 2, 3))) void Append(std::string* out,
                                                  const char* format,
                                                  ...);

// Returns a name, which has any bytes, as a text of XML.
std::string XmlText(std::string_view name);

size_t CountLetters(std::string_view utf8);

// Returns as much of |name| as fits into |width| pixels; empty if that says
// nothing.
std::string Fitting(std::string_view name, double width);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_SVG_TEXT_H_
