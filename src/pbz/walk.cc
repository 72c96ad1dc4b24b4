// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/walk.h"

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/text.h"

namespace pbz {

namespace {

using protozero::ConstBytes;
using protozero::DecodeStatus;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ParseVarInt;
using protozero::proto_utils::ProtoSchemaToWireType;
using protozero::proto_utils::ProtoWireType;
using protozero::proto_utils::VarIntSize;

constexpr char kTooDeep[] = "messages are nested deeper than 100 levels";

bool IsWellFormed(ConstBytes bytes) {
  ProtoDecoder decoder(bytes);
  while (decoder.ReadField().valid()) {
  }
  return decoder.status() == DecodeStatus::kOk;
}

// Returns null, or what is wrong.
const char* CheckPacked(ConstBytes bytes, ProtoWireType element) {
  if (element != ProtoWireType::kVarInt) {
    const size_t size = element == ProtoWireType::kFixed64 ? 8 : 4;
    return bytes.size % size == 0 ? nullptr
                                  : "a packed field ends within a value";
  }
  const uint8_t* at = bytes.data;
  const uint8_t* const end = at + bytes.size;
  while (at != end) {
    uint64_t value;
    const uint8_t* next = ParseVarInt(at, end, &value);
    if (next == at)
      return "a packed field has a bad varint";
    at = next;
  }
  return nullptr;
}

// Whether bytes that are neither text nor a message are probably packed
// varints. Half of all sequences of bytes could be. But numbers in a list tend
// to be of the same magnitude, and encoders do not pad them.
bool LookLikeVarInts(ConstBytes bytes) {
  size_t shortest = SIZE_MAX;
  size_t longest = 0;
  const uint8_t* at = bytes.data;
  const uint8_t* const end = at + bytes.size;
  while (at != end) {
    uint64_t value;
    const uint8_t* next = ParseVarInt(at, end, &value);
    const auto size = static_cast<size_t>(next - at);
    if (size == 0 || size != VarIntSize(value))
      return false;
    shortest = size < shortest ? size : shortest;
    longest = size > longest ? size : longest;
    if (longest > shortest + 1)
      return false;
    at = next;
  }
  return longest > 0;
}

// What a length-delimited field is, in absence of a schema.
Shape GuessShape(ConstBytes bytes) {
  // Text that is a well-formed message by chance is short, and more often meant
  // as text. Except that the tag of field 1 is a line end, with which text
  // seldom begins.
  if (IsText(bytes.ToStdStringView()) &&
      (bytes.size == 0 || bytes.data[0] != '\n' || !IsWellFormed(bytes))) {
    return Shape::kString;
  }
  if (IsWellFormed(bytes))
    return Shape::kMessage;
  return LookLikeVarInts(bytes) ? Shape::kPacked : Shape::kBytes;
}

bool IsScalar(SchemaType type) {
  return type != SchemaType::kUnknown && type != SchemaType::kGroup &&
         ProtoSchemaToWireType(type) != ProtoWireType::kLengthDelimited;
}

class Walker {
 public:
  explicit Walker(Visitor* visitor) : visitor_(visitor) {}

  // |depth| counts the messages around this one.
  void WalkFields(ConstBytes bytes,
                  uint64_t offset,
                  const MessageType* type,
                  int depth) {
    ProtoDecoder decoder(bytes);
    size_t begin = 0;
    for (Field field = decoder.ReadField(); field.valid();
         field = decoder.ReadField()) {
      Node node;
      node.field = field;
      node.offset = offset + begin;
      node.size = decoder.read_offset() - begin;
      node.tag_size = TagSize(bytes.data + begin);
      node.type = type ? type->FindField(field.id()) : nullptr;
      WalkField(&node, depth);
      begin = decoder.read_offset();
    }
    if (decoder.status() != DecodeStatus::kOk) {
      visitor_->OnMalformed(offset + begin, bytes.size - begin,
                            protozero::DecodeStatusToString(decoder.status()));
    }
  }

 private:
  static size_t TagSize(const uint8_t* tag) {
    size_t size = 1;
    while (*tag++ & 0x80)
      ++size;
    return size;
  }

  void WalkField(Node* node, int depth) {
    switch (node->field.type()) {
      case ProtoWireType::kLengthDelimited: {
        const ConstBytes bytes = node->field.as_bytes();
        node->size_size = node->size - node->tag_size - bytes.size;
        WalkLengthDelimited(node, bytes, depth);
        return;
      }
      case ProtoWireType::kStartGroup: {
        const ConstBytes bytes = node->field.as_bytes();
        const size_t content_offset = node->tag_size;
        node->tag_size = node->size - bytes.size;
        if (node->type && node->type->type != SchemaType::kGroup)
          node->type = nullptr;
        node->shape = Shape::kGroup;
        WalkMessage(*node, bytes, content_offset, depth);
        return;
      }
      default:
        if (node->type &&
            (!IsScalar(node->type->type) ||
             ProtoSchemaToWireType(node->type->type) != node->field.type())) {
          node->type = nullptr;
        }
        node->shape = Shape::kNumber;
        visitor_->OnValue(*node);
        return;
    }
  }

  void WalkLengthDelimited(Node* node, ConstBytes bytes, int depth) {
    SchemaType type = node->type ? node->type->type : SchemaType::kUnknown;
    if (type == SchemaType::kGroup ||
        (IsScalar(type) && !node->type->is_repeated)) {
      node->type = nullptr;
      type = SchemaType::kUnknown;
    }
    if (type == SchemaType::kMessage && node->type->message) {
      node->shape = Shape::kMessage;
    } else if (type == SchemaType::kString) {
      node->shape = Shape::kString;
    } else if (type == SchemaType::kBytes) {
      node->shape = Shape::kBytes;
    } else if (IsScalar(type)) {
      node->shape = Shape::kPacked;
      node->element = ProtoSchemaToWireType(type);
      if (const char* error = CheckPacked(bytes, node->element)) {
        visitor_->OnMalformed(node->offset, node->size, error);
        return;
      }
    } else {
      node->shape = GuessShape(bytes);
      if (node->shape == Shape::kMessage && depth + 1 >= kMaxDepth)
        node->shape = Shape::kBytes;
    }
    if (node->shape == Shape::kMessage)
      WalkMessage(*node, bytes, node->size - bytes.size, depth);
    else
      visitor_->OnValue(*node);
  }

  void WalkMessage(const Node& node,
                   ConstBytes bytes,
                   size_t content_offset,
                   int depth) {
    if (depth + 1 >= kMaxDepth) {
      visitor_->OnMalformed(node.offset, node.size, kTooDeep);
      return;
    }
    visitor_->OnBegin(node);
    WalkFields(bytes, node.offset + content_offset,
               node.type ? node.type->message : nullptr, depth + 1);
    visitor_->OnEnd(node);
  }

  Visitor* const visitor_;
};

}  // namespace

void Walk(ConstBytes bytes,
          uint64_t offset,
          const MessageType* type,
          Visitor* visitor) {
  Walker(visitor).WalkFields(bytes, offset, type, 0);
}

}  // namespace pbz
