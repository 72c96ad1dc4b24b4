// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_ARG_TEXTS_H_
#define SRC_PZTRACE_ARG_TEXTS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protozero/tracing/trace_reader.h"

namespace pztrace {

// Texts that many events may repeat, by a number: a trace has them once. Long
// ones are references in the arguments of an event, until these are shown.
class ArgTexts {
 public:
  // Longer texts are cut, so that output does not grow out of proportion.
  static constexpr size_t kMaxBytes = protozero::EventText::kMaxTextSize;

  // Appends |text| as a JSON string, or a reference, which looks like one.
  void Append(std::string_view text, std::string* json);

  // Returns whether |json| has references.
  static bool HasReferences(std::string_view json) {
    return json.find(kMark) != std::string_view::npos;
  }
  // Puts texts in the places of references: "..." when there are so many that
  // |json| would be much longer than what it was made of.
  void Resolve(std::string* json) const;

 private:
  // JSON has no such character, even in strings.
  static constexpr char kMark = '\1';
  // The longest text that takes no more memory than a reference, or little.
  static constexpr size_t kMaxShort = 64;
  // The texts of one event: so many bytes, and so many for each byte of |json|.
  static constexpr size_t kMinTexts = 4 * kMaxBytes;
  static constexpr size_t kMaxGrowth = 16;

  std::vector<std::string> texts_;  // JSON strings.
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_ARG_TEXTS_H_
