// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_TEXT_TABLE_H_
#define SRC_TRACING_TRACE_READER_TEXT_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/id_map.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The number of a text, which is kept once: equal texts have equal numbers.
using StringId = uint32_t;
// The number of a category and a name together.
using TextId = uint32_t;

// Returns the part of a text that is kept: EventText::kMaxTextSize bytes, to
// the end of a character.
std::string_view CutText(std::string_view text);

// The texts of a trace. They stay at their addresses.
class TextTable {
 public:
  static constexpr StringId kEmpty = 0;

  TextTable() { Intern({}); }

  // Returns the number of |string|, which is cut if it is too long.
  StringId Intern(std::string_view string);
  const std::string& string(StringId id) const { return strings_[id]; }

  TextId TextOf(StringId category, StringId name);
  const EventText& text(TextId id) const { return texts_[id]; }

 private:
  struct Place {
    uint32_t hash;
    StringId id;  // IdMap::kNone if unused.
  };

  void Grow();

  std::deque<std::string> strings_;
  std::vector<Place> places_;
  IdMap text_ids_;
  std::deque<EventText> texts_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_TEXT_TABLE_H_
