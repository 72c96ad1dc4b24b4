// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_NAME_ARENA_H_
#define SRC_TRACING_TRACE_READER_NAME_ARENA_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string_view>
#include <vector>

#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Names that are mostly different, stored one after the other: two bytes of
// length, then the name.
class NameArena {
 public:
  static constexpr uint32_t kNone = 0;

  // Returns the place of a copy of |name|, which is cut like a text of
  // TextTable.
  uint32_t Add(std::string_view name) {
    name = CutText(name);
    const size_t size = sizeof(uint16_t) + name.size();
    if (blocks_.empty() || kBlockSize - used_ < size) {
      if (blocks_.size() == kMaxBlocks)
        return kNone;
      blocks_.emplace_back(new char[kBlockSize]);
      // The first place stays unused, because it is kNone.
      used_ = 1;
    }
    char* const to = &blocks_.back()[used_];
    const auto length = static_cast<uint16_t>(name.size());
    memcpy(to, &length, sizeof(length));
    if (length != 0)
      memcpy(to + sizeof(length), name.data(), length);
    const size_t place = (blocks_.size() - 1) * kBlockSize + used_;
    used_ += size;
    return static_cast<uint32_t>(place);
  }

  std::string_view Get(uint32_t place) const {
    if (place == kNone)
      return {};
    const char* const from = &blocks_[place / kBlockSize][place % kBlockSize];
    uint16_t length;
    memcpy(&length, from, sizeof(length));
    return {from + sizeof(length), length};
  }

 private:
  static constexpr size_t kBlockSize = size_t{1} << 16;
  static constexpr size_t kMaxBlocks = size_t{1} << 16;
  static_assert(EventText::kMaxTextSize < UINT16_MAX / 2,
                "a length has 16 bits");

  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0;  // The used bytes of the last block.
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_NAME_ARENA_H_
