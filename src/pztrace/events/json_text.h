// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_JSON_TEXT_H_
#define SRC_PZTRACE_EVENTS_JSON_TEXT_H_

#include <stddef.h>

#include <string>
#include <string_view>

namespace pztrace {

// The limit of objects and lists in each other. A deeper one becomes null, or
// is not taken for JSON.
inline constexpr int kMaxJsonDepth = 32;

// Appends the value of the JSON in |text|, without its spaces. Returns false,
// and appends nothing, if it is not JSON.
bool AppendJsonText(std::string_view text, std::string* json);

// Appends |value|. Infinities and NaN are texts, because JSON has no numbers
// for them.
void AppendJsonDouble(double value, std::string* json);

// Returns false if it is certain that no two of |members| of an object, with
// commas between them, have one name.
bool MayRepeatMembers(std::string_view members);

// Removes the string that |json| begins with, if it does, and returns its text.
// A lone half of a surrogate pair becomes U+FFFD.
std::string TakeJsonString(std::string_view* json);

// Removes each member that another one of the same name follows. |json| ends in
// members of an object with commas between them, which begin at |begin|.
void RemoveRepeatedMembers(size_t begin, std::string* json);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_JSON_TEXT_H_
