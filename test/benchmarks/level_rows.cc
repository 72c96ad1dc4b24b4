// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/level_rows.h"

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/message.h"
#include "protozero/root_message.h"
#include "protozero/static_buffer.h"

namespace protozero {
namespace bench {

namespace {

// The most bytes of a level: a number and the child's tag and size.
constexpr size_t kMaxLevelSize = 2 + 1 + 4;

// Writes a message of |levels| to |buffer|, which is one chunk.
// tools/measure_instructions counts the function of this name.
__attribute__((noinline)) size_t EncodeOutOfLine(size_t levels,
                                                 std::vector<uint8_t>* buffer) {
  if (levels == 0)
    return 0;
  StaticBuffered<Message> root(buffer->data(), buffer->size());
  Message* message = root.get();
  for (size_t i = 0; i < levels; ++i) {
    message->AppendVarInt(1, uint32_t{1});
    message = message->BeginNestedMessage<Message>(2);
  }
  return root.Finalize();
}

__attribute__((noinline)) bool EncodeMany(size_t levels,
                                          size_t count,
                                          std::vector<uint8_t>* buffer) {
  bool is_whole = true;
  for (size_t i = 0; i < count; ++i)
    is_whole &= EncodeOutOfLine(levels, buffer) >= 4 * levels;
  return is_whole;
}

template <size_t kLevels>
bool Write(size_t count) {
  std::vector<uint8_t> buffer(kMaxLevelSize * (kLevels + 1));
  return EncodeMany(kLevels, kLevels == 0 ? count : count / kLevels, &buffer);
}

}  // namespace

std::vector<EventRow> AllLevelRows() {
  return {
      {"Levels_Empty", &Write<0>},
      {"Levels_1000", &Write<1000>},
      {"Levels_4000", &Write<4000>},
  };
}

}  // namespace bench
}  // namespace protozero
