// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_MESSAGE_TREE_H_
#define TEST_TESTING_MESSAGE_TREE_H_

#include <stddef.h>
#include <stdint.h>

#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protozero/message.h"

// The content of a message as data, with a way to write it with the library.
// The expected bytes are made in the simplest way and without a line of the
// library's code.

namespace protozero::test {

struct Field;
using MessageTree = std::vector<Field>;

struct Field {
  // The kinds of fields: one for each function of Message that appends, and one
  // for each other thing that can be done to the stream in between.
  enum class Kind {
    kUnsigned,        // AppendVarInt(uint64_t)
    kSigned,          // AppendVarInt(int64_t)
    kUnsigned32,      // AppendVarInt(uint32_t)
    kSigned32,        // AppendVarInt(int32_t)
    kZigZag32,        // AppendSignedVarInt(int32_t)
    kZigZag64,        // AppendSignedVarInt(int64_t)
    kTiny,            // AppendTinyVarInt()
    kFixed32,         // AppendFixed(uint32_t)
    kFixed64,         // AppendFixed(uint64_t)
    kFloat,           // AppendFixed(float)
    kDouble,          // AppendFixed(double)
    kString,          // AppendString()
    kBytes,           // AppendBytes()
    kScattered,       // AppendScatteredBytes()
    kBorrowed,        // AppendBorrowedBytes(), of bytes in the tree
    kRaw,             // AppendRawProtoBytes(), of |fields|
    kNested,          // BeginNestedMessage(), of |fields|
    kNestedAndDone,   // The same, finalized by hand
    kNestedHandle,    // The same, finalized by a MessageHandle
    kGroup,           // BeginNestedGroup(), of |fields|
    kGroupAndDone,    // The same, finalized by hand
    kTakenBack,       // BeginNestedMessage() and RollBackNestedMessage()
    kGroupTakenBack,  // BeginNestedGroup() and RollBackNestedMessage()
    kStream,          // ScatteredStreamWriter::WriteBytes(), of |fields|
    kReserved,        // ReserveBytes(), for up to two |bytes| with an id < 16
    kLook,            // Writes nothing; asks for the stream's position.
  };
  static constexpr int kNumKinds = static_cast<int>(Kind::kLook) + 1;

  uint32_t id;
  Kind kind;
  // The number, or the bits of a floating-point number.
  uint64_t number = 0;
  std::string bytes;
  MessageTree fields;

  bool is_taken_back() const {
    return kind == Kind::kTakenBack || kind == Kind::kGroupTakenBack;
  }
  bool is_bytes() const {
    return kind == Kind::kString || kind == Kind::kBytes ||
           kind == Kind::kScattered || kind == Kind::kBorrowed ||
           kind == Kind::kReserved;
  }
  bool is_raw() const { return kind == Kind::kRaw || kind == Kind::kStream; }
  bool is_group() const {
    return kind == Kind::kGroup || kind == Kind::kGroupAndDone ||
           kind == Kind::kGroupTakenBack;
  }
  bool is_done() const {
    return kind == Kind::kNestedAndDone || kind == Kind::kNestedHandle ||
           kind == Kind::kGroupAndDone;
  }
  // Returns whether it is a message with a size or a group. It may be taken
  // back.
  bool is_nested() const {
    return kind == Kind::kNested || kind == Kind::kNestedAndDone ||
           kind == Kind::kNestedHandle || is_group() || is_taken_back();
  }
};

// Return fields, for trees that a test writes down. A |Number| of a
// floating-point or signed type stands for its bits.
template <typename Number>
Field NumberField(Field::Kind kind, uint32_t id, Number number) {
  Field field{id, kind, 0, {}, {}};
  if constexpr (std::is_floating_point<Number>::value) {
    std::conditional_t<sizeof(Number) == 8, uint64_t, uint32_t> bits;
    static_assert(sizeof(bits) == sizeof(number));
    memcpy(&bits, &number, sizeof(bits));
    field.number = bits;
  } else {
    field.number = static_cast<uint64_t>(number);
  }
  return field;
}
Field BytesField(uint32_t id,
                 std::string bytes,
                 Field::Kind kind = Field::Kind::kBytes);
Field NestedField(uint32_t id,
                  MessageTree fields,
                  Field::Kind kind = Field::Kind::kNested);

// The sizes of the chunks that a delegate hands out. The last one is repeated.
using ChunkSizes = std::vector<size_t>;

// Returns one chunk that is large enough for everything.
ChunkSizes OneLargeChunk();

// Appends |tree| to |message|.
void WriteTree(const MessageTree& tree, Message* message);

// Returns the bytes of |tree| in chunks of |chunk_sizes|. A nested message has
// a one-byte size if it takes up to 127 bytes and lies within one chunk
// together with its size field, and a four-byte size otherwise; the size field
// is never split. A field that is taken back is gone if it began in the current
// chunk; |*kept|, if not null, becomes the tree without it.
std::string EncodeTree(const MessageTree& tree,
                       const ChunkSizes& chunk_sizes,
                       MessageTree* kept = nullptr);

// Returns the bytes of |tree| in the form of other encoders: all sizes are
// minimal, and nothing is taken back.
std::string EncodeTreeCanonically(const MessageTree& tree);

// Returns up to |max_fields| random fields on each level, with values and ids
// of random magnitude. Messages are nested up to |max_depth| deep.
MessageTree RandomTree(std::mt19937_64& random,
                       uint32_t max_fields,
                       uint32_t max_depth);

// Returns a tree of random fields. EncodeTree() makes |size| bytes of it in one
// chunk, or a few more. Most of it is in nested messages, up to |max_depth|
// deep. Their sizes are often close to 512, and to the sizes where a size field
// becomes longer. One field may bring several levels there.
MessageTree RandomTreeOfSize(std::mt19937_64& random,
                             size_t size,
                             uint32_t max_depth);

}  // namespace protozero::test

#endif  // TEST_TESTING_MESSAGE_TREE_H_
