// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_JSON_TEXT_H_
#define SRC_PZTRACE_JSON_TEXT_H_

#include <stddef.h>

#include <string>
#include <string_view>

namespace pztrace {

// Objects and lists in each other; what is deeper is null, or no JSON.
inline constexpr int kMaxJsonDepth = 32;

// Appends the value that |text| is in JSON, without its spaces. Returns false,
// and appends nothing, if it is none.
bool AppendJsonText(std::string_view text, std::string* json);

// Appends |value|; infinities and NaN as texts, which JSON has no numbers for.
void AppendJsonDouble(double value, std::string* json);

// Returns false if no two of |members| of an object, with commas between them,
// have one name.
bool MayRepeatMembers(std::string_view members);

// Removes the members that another one of the same name follows. |json| ends in
// members of an object with commas between them, which begin at |begin|.
void RemoveRepeatedMembers(size_t begin, std::string* json);

}  // namespace pztrace

#endif  // SRC_PZTRACE_JSON_TEXT_H_
