// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_ARG_TEXTS_H_
#define SRC_PZTRACE_EVENTS_ARG_TEXTS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protozero/tracing/trace_reader.h"

namespace pztrace {

// Keeps texts that many events may repeat, each once, by a number. In the
// arguments of an event, long ones are references until the arguments are
// shown.
class ArgTexts {
 public:
  // The limit of a text. Longer ones are cut, so that the output does not grow
  // out of proportion.
  static constexpr size_t kMaxBytes = protozero::EventText::kMaxTextSize;

  // Appends |text| as a JSON string, or as a reference, which looks like one.
  void Append(std::string_view text, std::string* json);

  // Returns whether |json| has references.
  static bool HasReferences(std::string_view json) {
    return json.find(kMark) != std::string_view::npos;
  }
  // Replaces references by their texts. It takes "..." instead when there are
  // so many that |json| would be much longer than its source.
  void Resolve(std::string* json) const;

 private:
  // The mark of a reference. JSON has no such character, even in strings.
  static constexpr char kMark = '\1';
  // The longest text that is no reference: it takes little more memory than
  // one.
  static constexpr size_t kMaxShort = 64;
  // The limit of the texts of one event: so many bytes, and so many more for
  // each byte of |json|.
  static constexpr size_t kMinTexts = 4 * kMaxBytes;
  static constexpr size_t kMaxGrowth = 16;

  std::vector<std::string> texts_;  // The texts as JSON strings.
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_ARG_TEXTS_H_
