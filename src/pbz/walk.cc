// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/walk.h"

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "src/program/text.h"

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

// The depth of unknown fields inside each other up to which protoc takes them
// for messages.
constexpr int kMaxUnknownDepth = 10;

// Field ids of a message set: `repeated group Item = 1 { type_id; message; }`.
constexpr uint32_t kItem = 1;
constexpr uint32_t kItemTypeId = 2;
constexpr uint32_t kItemMessage = 3;

bool IsWellFormed(ConstBytes bytes) {
  ProtoDecoder decoder(bytes);
  while (decoder.ReadField().valid()) {
  }
  return decoder.status() == DecodeStatus::kOk;
}

// Returns the problem, or null if there is none.
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

// Returns whether bytes that are neither text nor a message are probably packed
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

// Guesses the type of a length-delimited field without a schema.
Shape GuessShape(ConstBytes bytes) {
  // A text that by chance is a well-formed message is short, and more often
  // meant as a text. An exception is the tag of field 1, which is a line end:
  // texts seldom begin with it.
  if (program::IsText(bytes.ToStdStringView()) &&
      (bytes.size == 0 || bytes.data[0] != '\n' || !IsWellFormed(bytes))) {
    return Shape::kString;
  }
  if (IsWellFormed(bytes))
    return Shape::kMessage;
  return LookLikeVarInts(bytes) ? Shape::kPacked : Shape::kBytes;
}

// Returns the type that protoc assumes for a length-delimited field that the
// schema does not have.
Shape UnknownShape(ConstBytes bytes, int unknown_depth) {
  return bytes.size != 0 && unknown_depth < kMaxUnknownDepth &&
                 IsWellFormed(bytes)
             ? Shape::kMessage
             : Shape::kBytes;
}

bool IsScalar(SchemaType type) {
  return type != SchemaType::kUnknown && type != SchemaType::kGroup &&
         ProtoSchemaToWireType(type) != ProtoWireType::kLengthDelimited;
}

// Returns whether |bytes|, a map's entry of |type|, has a value that its enum
// does not have. The whole entry is an unknown field then.
bool HasUnknownValue(const MessageType& type, ConstBytes bytes) {
  const FieldType* value_type = type.FindField(kMapValue);
  if (!type.is_map_entry || !value_type || !value_type->enum_type)
    return false;
  const Field value = ProtoDecoder(bytes).FindField(kMapValue);
  return value.type() == ProtoWireType::kVarInt &&
         !value_type->HasValue(value.as_int32());
}

// The place of a message.
struct Place {
  int depth = 0;          // The number of messages around it.
  int unknown_depth = 0;  // Unknown fields among them, from the innermost on.
};

class Walker {
 public:
  Walker(Visitor* visitor, bool has_schema)
      : visitor_(visitor), has_schema_(has_schema) {}

  void WalkFields(ConstBytes bytes,
                  uint64_t offset,
                  const MessageType* type,
                  Place place) {
    ProtoDecoder decoder(bytes);
    size_t begin = 0;
    for (Field field = decoder.ReadField(); field.valid();
         field = decoder.ReadField()) {
      Node node;
      node.field = field;
      node.id = field.id();
      node.is_guess = !has_schema_;
      node.offset = offset + begin;
      node.size = decoder.read_offset() - begin;
      node.tag_size = TagSize(bytes.data + begin);
      node.type = type ? type->FindField(field.id()) : nullptr;
      const bool is_item = type && type->is_message_set &&
                           field.id() == kItem &&
                           field.type() == ProtoWireType::kStartGroup;
      if (!is_item || !WalkItem(node, *type, place))
        WalkField(&node, place);
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

  void WalkField(Node* node, Place place) {
    switch (node->field.type()) {
      case ProtoWireType::kLengthDelimited: {
        const ConstBytes bytes = node->field.as_bytes();
        node->size_size = node->size - node->tag_size - bytes.size;
        WalkLengthDelimited(node, bytes, place);
        return;
      }
      case ProtoWireType::kStartGroup: {
        const ConstBytes bytes = node->field.as_bytes();
        const size_t content_offset = node->tag_size;
        node->tag_size = node->size - bytes.size;
        if (node->type && node->type->type != SchemaType::kGroup)
          node->type = nullptr;
        node->shape = Shape::kGroup;
        WalkMessage(*node, bytes, content_offset, place);
        return;
      }
      default:
        if (node->type &&
            (!IsScalar(node->type->type) ||
             ProtoSchemaToWireType(node->type->type) != node->field.type() ||
             !node->type->HasValue(node->field.as_int32()))) {
          node->type = nullptr;
        }
        node->shape = Shape::kNumber;
        visitor_->OnValue(*node);
        return;
    }
  }

  // Shows an item of a message set as the extension that it stands for. Returns
  // false if it does not consist of the extension's id and its message.
  bool WalkItem(Node node, const MessageType& type, Place place) {
    const ConstBytes item = node.field.as_bytes();
    ProtoDecoder decoder(item);
    Field id = Field();
    Field message = Field();
    for (Field f = decoder.ReadField(); f.valid(); f = decoder.ReadField()) {
      Field* part = nullptr;
      if (f.id() == kItemTypeId && f.type() == ProtoWireType::kVarInt)
        part = &id;
      if (f.id() == kItemMessage && f.type() == ProtoWireType::kLengthDelimited)
        part = &message;
      if (!part || part->valid())
        return false;
      *part = f;
    }
    if (!id.valid() || !message.valid() ||
        decoder.status() != DecodeStatus::kOk) {
      return false;
    }
    const ConstBytes bytes = message.as_bytes();
    const auto content_offset =
        node.tag_size + static_cast<size_t>(bytes.data - item.data);
    node.id = id.as_uint32();
    node.field = message;
    node.type = type.FindField(node.id);
    node.tag_size = node.size - bytes.size;
    WalkLengthDelimited(&node, bytes, content_offset, place);
    return true;
  }

  void WalkLengthDelimited(Node* node, ConstBytes bytes, Place place) {
    WalkLengthDelimited(node, bytes, node->size - bytes.size, place);
  }

  void WalkLengthDelimited(Node* node,
                           ConstBytes bytes,
                           size_t content_offset,
                           Place place) {
    SchemaType type = node->type ? node->type->type : SchemaType::kUnknown;
    if (type == SchemaType::kGroup ||
        (IsScalar(type) && !node->type->is_repeated) ||
        (type == SchemaType::kMessage && node->type->message &&
         HasUnknownValue(*node->type->message, bytes))) {
      node->type = nullptr;
      type = SchemaType::kUnknown;
    }
    if (type == SchemaType::kMessage &&
        (node->type->message || IsWellFormed(bytes))) {
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
      node->shape = has_schema_ ? UnknownShape(bytes, place.unknown_depth)
                                : GuessShape(bytes);
      if (node->shape == Shape::kMessage && place.depth + 1 >= kMaxDepth)
        node->shape = Shape::kBytes;
    }
    if (node->shape == Shape::kMessage)
      WalkMessage(*node, bytes, content_offset, place);
    else
      visitor_->OnValue(*node);
  }

  void WalkMessage(const Node& node,
                   ConstBytes bytes,
                   size_t content_offset,
                   Place place) {
    if (place.depth + 1 >= kMaxDepth) {
      visitor_->OnMalformed(node.offset, node.size, kTooDeep);
      return;
    }
    visitor_->OnBegin(node);
    ++place.depth;
    place.unknown_depth = node.type ? 0 : place.unknown_depth + 1;
    WalkFields(bytes, node.offset + content_offset,
               node.type ? node.type->message : nullptr, place);
    visitor_->OnEnd(node);
  }

  Visitor* const visitor_;
  const bool has_schema_;
};

}  // namespace

void Walk(ConstBytes bytes,
          uint64_t offset,
          const MessageType* type,
          Visitor* visitor) {
  Walker(visitor, type != nullptr).WalkFields(bytes, offset, type, Place());
}

}  // namespace pbz
