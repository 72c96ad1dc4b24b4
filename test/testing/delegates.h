// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_DELEGATES_H_
#define TEST_TESTING_DELEGATES_H_

#include <stddef.h>

#include <functional>
#include <string_view>

#include "protozero/config.h"
#include "protozero/message.h"
#include "test/testing/message_tree.h"
#include "test/testing/sanitizers.h"

// Runs the same case over every delegate and every chunk size.

namespace protozero::test {

// True if the code is several times slower than users': in debug builds and
// those with sanitizers.
inline constexpr bool kIsSlowBuild = PROTOZERO_DCHECK_IS_ON || kHasSanitizer;

// The step in long series of sizes and of random messages. Slow builds try only
// every third one, the others try all.
inline constexpr size_t kSeriesStep = kIsSlowBuild ? 3 : 1;

// Returns the chunk sizes worth trying: those from the smallest legal one to
// 64, and those around the borders of the encoding.
const ChunkSizes& InterestingChunkSizes();

// Runs |write| over static buffers, heap buffers and a foreign delegate (with
// each way to answer AnnotatePatch()), at all InterestingChunkSizes(); slow
// builds leave out sizes that make hundreds of chunks. Expects the result of
// EncodeTree(|tree|): exact bytes, the size that Finalize() returns, the
// writer's count, and no byte written elsewhere.
void ExpectWrites(const MessageTree& tree,
                  const std::function<void(Message*)>& write);

// Expects that of WriteTree().
void ExpectWrites(const MessageTree& tree);

// Expects the bytes that are given as hex, of a message without nested ones.
void ExpectWritesHex(std::string_view hex,
                     const std::function<void(Message*)>& write);

// Expects that in one sequence of chunks, with the foreign delegate.
void ExpectWritesToChunks(const MessageTree& tree,
                          const ChunkSizes& chunk_sizes);

}  // namespace protozero::test

#endif  // TEST_TESTING_DELEGATES_H_
