// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_WALK_H_
#define SRC_PBZ_WALK_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/field.h"
#include "protozero/proto_utils.h"
#include "src/pbz/schema.h"

// Goes through a message field by field, with or without a schema, and says
// what each field is. This is the only place that knows how to read a field;
// printing and counting build on it.

namespace pbz {

// The form in which a field is shown.
enum class Shape : uint8_t {
  kNumber,   // A varint or fixed-size number, bools and enums included.
  kString,   // Text; it may have escapes.
  kBytes,    // Anything.
  kPacked,   // Numbers of |Node::element|.
  kMessage,  // Has fields.
  kGroup,    // Has fields, and an end tag.
};

struct Node {
  // The id in its tag. An item of a message set has the id of its extension.
  uint32_t id = 0;
  // The field's type. Null if the schema does not have the field, or has it
  // with another wire type, which makes it an unknown field to parsers.
  const FieldType* type = nullptr;
  Shape shape = Shape::kNumber;
  // True if there is no schema, so another shape is possible.
  bool is_guess = false;
  // The type of the elements of a packed field. kVarInt if it was guessed.
  protozero::proto_utils::ProtoWireType element =
      protozero::proto_utils::ProtoWireType::kVarInt;
  protozero::Field field{};
  uint64_t offset = 0;   // The place of its tag in the file.
  size_t size = 0;       // The size from its tag to its end.
  size_t tag_size = 0;   // The size of its tag; a group has two.
  size_t size_size = 0;  // The size of the payload's length.
};

class Visitor {
 public:
  virtual ~Visitor() = default;

  virtual void OnValue(const Node& node) = 0;
  // Called before and after the content of a message or group.
  virtual void OnBegin(const Node& node) = 0;
  virtual void OnEnd(const Node& node) = 0;
  // Called before the content of one of several length-delimited messages. The
  // |size_size| bytes in front of |offset| are its size.
  virtual void OnMessage(uint64_t offset, size_t size, size_t size_size) = 0;
  // Called for |size| bytes at |offset| that are not fields. |reason| is a
  // constant.
  virtual void OnMalformed(uint64_t offset,
                           size_t size,
                           const char* reason) = 0;
};

// The depth up to which messages are looked into, like in other parsers of
// protobuf. Deeper ones are malformed, or bytes if they are only guessed to be
// messages.
inline constexpr int kMaxDepth = 100;

// Walks the fields in |bytes|, which begin at |offset| in the file and belong
// to a message of |type|; null if it is unknown.
//
// With a type, fields that the type does not have are shown like in protoc.
// Without one, the shapes of length-delimited fields are guessed.
void Walk(protozero::ConstBytes bytes,
          uint64_t offset,
          const MessageType* type,
          Visitor* visitor);

// Calls |use| with each element of |node|, a packed field: its bits on the
// wire, its place in the file, and its size in bytes.
template <typename Use>
void ForEachElement(const Node& node, Use use) {
  using protozero::proto_utils::ProtoWireType;
  const protozero::ConstBytes bytes = node.field.as_bytes();
  const uint8_t* at = bytes.data;
  const uint8_t* const end = at + bytes.size;
  const uint64_t offset = node.offset + node.size - bytes.size;
  while (at != end) {
    const uint8_t* const begin = at;
    uint64_t bits = 0;
    if (node.element == ProtoWireType::kVarInt) {
      at = protozero::proto_utils::ParseVarInt(at, end, &bits);
    } else {
      const int size = node.element == ProtoWireType::kFixed64 ? 8 : 4;
      for (int i = size - 1; i >= 0; --i)
        bits = bits << 8 | at[i];
      at += size;
    }
    use(bits, offset + static_cast<uint64_t>(begin - bytes.data),
        static_cast<size_t>(at - begin));
  }
}

}  // namespace pbz

#endif  // SRC_PBZ_WALK_H_
