// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/conformance/transcoder.h"

#include <string.h>

#include <type_traits>
#include <utility>

#include "protozero/decode_status.h"
#include "protozero/field_writer.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/proto_decoder.h"
#include "protozero/repeated_fields.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/program/text.h"

namespace protozero::conformance {

namespace {

using pbz::FieldType;
using pbz::MessageType;
using pbz::SchemaType;
using proto_utils::ProtoWireType;

// The depth of messages inside the first one, which are transcoded with
// recursion. Protobuf has the same default.
constexpr int kMaxDepth = 100;

// The field ids of map entries, and of the parts of a MessageSet.
constexpr uint32_t kMapKey = 1;
constexpr uint32_t kMapValue = 2;
constexpr uint32_t kMessageSetItem = 1;
constexpr uint32_t kMessageSetTypeId = 2;
constexpr uint32_t kMessageSetMessage = 3;

ProtoWireType WireTypeOf(const FieldType& type) {
  return type.type == SchemaType::kGroup
             ? ProtoWireType::kStartGroup
             : proto_utils::ProtoSchemaToWireType(type.type);
}

bool IsScalar(const FieldType& type) {
  return WireTypeOf(type) != ProtoWireType::kLengthDelimited &&
         type.type != SchemaType::kGroup;
}

bool IsMap(const FieldType& type) {
  return type.message != nullptr && type.message->is_map_entry;
}

// Returns true if the type is not a closed enum or the number is a value of it.
bool IsValue(const FieldType& type, int32_t number) {
  return type.enum_type == nullptr || !type.enum_type->is_closed ||
         type.enum_type->FindName(number) != nullptr;
}

// Returns true if |field| is the field of the schema with that id, and not an
// unknown one with the same id. The elements of a packed field need a test
// each.
bool IsKnown(const FieldType& type, const Field& field) {
  if (field.type() == WireTypeOf(type))
    return IsValue(type, field.as_int32());
  return type.is_repeated && IsScalar(type) &&
         field.type() == ProtoWireType::kLengthDelimited;
}

// Returns the field that readers see if the field is absent.
Field DefaultOf(const FieldType& type) {
  Field field;
  field.initialize(type.id, WireTypeOf(type),
                   IsScalar(type) ? 0 : reinterpret_cast<uintptr_t>(""), 0);
  return field;
}

// Returns the bytes of the fields one after the other, which merges messages.
// Copies them to |storage| if there are several fields.
ConstBytes Concatenate(const std::vector<Field>& fields, std::string* storage) {
  if (fields.size() == 1)
    return fields.front().as_bytes();
  for (const Field& field : fields)
    storage->append(field.as_bytes().ToStdStringView());
  return ConstBytes(reinterpret_cast<const uint8_t*>(storage->data()),
                    storage->size());
}

template <SchemaType type>
auto ValueOf(const Field& field) {
  typename internal::ScalarTypeOf<type>::type value;
  if constexpr (type == SchemaType::kSint32 || type == SchemaType::kSint64) {
    field.get_signed(&value);
  } else {
    field.get(&value);
  }
  return value;
}

// The type that builds packed values of this type.
template <SchemaType type>
using PackedBuffer = std::conditional_t<
    proto_utils::ProtoSchemaToWireType(type) != ProtoWireType::kVarInt,
    PackedFixedSizeInt<typename internal::ScalarTypeOf<type>::type>,
    std::conditional_t<type == SchemaType::kSint32 ||
                           type == SchemaType::kSint64,
                       PackedSignedVarInt,
                       PackedVarInt>>;

}  // namespace

bool Transcoder::Fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool Transcoder::TranscodeMessage(const MessageType& type,
                                  ConstBytes in,
                                  Message* out) {
  if (depth_ > kMaxDepth)
    return Fail("messages are nested too deeply");
  ++depth_;
  const bool ok = type.is_message_set ? TranscodeMessageSet(type, in, out)
                                      : TranscodeFields(type, in, out);
  --depth_;
  return ok;
}

bool Transcoder::TranscodeFields(const MessageType& type,
                                 ConstBytes in,
                                 Message* out) {
  std::map<uint32_t, Fields> known;
  Fields unknown;
  ProtoDecoder decoder(in);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const FieldType* field_type = type.FindField(field.id());
    if (field_type == nullptr || !IsKnown(*field_type, field)) {
      unknown.push_back(field);
      continue;
    }
    if (field_type->oneof_index >= 0) {
      for (const FieldType& other : type.fields) {
        if (other.oneof_index == field_type->oneof_index &&
            other.id != field.id()) {
          known.erase(other.id);
        }
      }
    }
    known[field.id()].push_back(field);
  }
  if (decoder.status() != DecodeStatus::kOk) {
    return Fail(std::string(DecodeStatusToString(decoder.status())) +
                ", at byte " + std::to_string(decoder.error_offset()));
  }
  for (const auto& [id, fields] : known) {
    if (!Write(*type.FindField(id), fields, out))
      return false;
  }
  for (const Field& field : unknown)
    WriteUnknown(field, out);
  return true;
}

// The fields of a message with the option message_set_wire_format are
// extensions, each inside a group:
//
//   repeated group Item = 1 {
//     required uint32 type_id = 2;   // The extension's field id.
//     required bytes message = 3;
//   }
//
// Parsers also accept them in the form that other messages have.
bool Transcoder::TranscodeMessageSet(const MessageType& type,
                                     ConstBytes in,
                                     Message* out) {
  std::map<uint32_t, Fields> known;
  Fields unknown;
  ProtoDecoder decoder(in);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    uint32_t id = field.id();
    Field message = field;
    if (id == kMessageSetItem && field.type() == ProtoWireType::kStartGroup) {
      const MessageDecoder<kMessageSetTypeId, kMessageSetMessage> item(
          field.as_bytes());
      id = item.at<kMessageSetTypeId>().as_uint32();
      message = item.at<kMessageSetMessage>();
    }
    if (type.FindField(id) != nullptr) {
      known[id].push_back(message);
    } else {
      unknown.push_back(field);
    }
  }
  if (decoder.status() != DecodeStatus::kOk)
    return Fail(DecodeStatusToString(decoder.status()));
  for (const auto& [id, fields] : known) {
    std::string storage;
    Message* item = out->BeginNestedGroup<Message>(kMessageSetItem);
    item->AppendVarInt(kMessageSetTypeId, id);
    if (!TranscodeMessage(
            *type.FindField(id)->message, Concatenate(fields, &storage),
            item->BeginNestedMessage<Message>(kMessageSetMessage))) {
      return false;
    }
  }
  for (const Field& field : unknown)
    WriteUnknown(field, out);
  return true;
}

bool Transcoder::Write(const FieldType& type,
                       const Fields& fields,
                       Message* out) {
  switch (type.type) {
    case SchemaType::kMessage:
    case SchemaType::kGroup:
      return IsMap(type) ? WriteMap(type, fields, out)
                         : WriteMessages(type, fields, out);
    case SchemaType::kString:
    case SchemaType::kBytes:
      return WriteStrings(type, fields, out);
    case SchemaType::kDouble:
      return WriteScalars<SchemaType::kDouble>(type, fields, out);
    case SchemaType::kFloat:
      return WriteScalars<SchemaType::kFloat>(type, fields, out);
    case SchemaType::kInt64:
      return WriteScalars<SchemaType::kInt64>(type, fields, out);
    case SchemaType::kUint64:
      return WriteScalars<SchemaType::kUint64>(type, fields, out);
    case SchemaType::kInt32:
      return WriteScalars<SchemaType::kInt32>(type, fields, out);
    case SchemaType::kFixed64:
      return WriteScalars<SchemaType::kFixed64>(type, fields, out);
    case SchemaType::kFixed32:
      return WriteScalars<SchemaType::kFixed32>(type, fields, out);
    case SchemaType::kBool:
      return WriteScalars<SchemaType::kBool>(type, fields, out);
    case SchemaType::kUint32:
      return WriteScalars<SchemaType::kUint32>(type, fields, out);
    case SchemaType::kEnum:
      return WriteScalars<SchemaType::kEnum>(type, fields, out);
    case SchemaType::kSfixed32:
      return WriteScalars<SchemaType::kSfixed32>(type, fields, out);
    case SchemaType::kSfixed64:
      return WriteScalars<SchemaType::kSfixed64>(type, fields, out);
    case SchemaType::kSint32:
      return WriteScalars<SchemaType::kSint32>(type, fields, out);
    case SchemaType::kSint64:
      return WriteScalars<SchemaType::kSint64>(type, fields, out);
    case SchemaType::kUnknown:
      break;
  }
  return Fail("the schema has a field of an unknown type");
}

bool Transcoder::WriteMessages(const FieldType& type,
                               const Fields& fields,
                               Message* out) {
  const auto write = [&](ConstBytes bytes) {
    return TranscodeMessage(*type.message, bytes,
                            type.type == SchemaType::kGroup
                                ? out->BeginNestedGroup<Message>(type.id)
                                : out->BeginNestedMessage<Message>(type.id));
  };
  if (!type.is_repeated) {
    std::string storage;
    return write(Concatenate(fields, &storage));
  }
  for (const Field& field : fields) {
    if (!write(field.as_bytes()))
      return false;
  }
  return true;
}

bool Transcoder::WriteMap(const FieldType& type,
                          const Fields& fields,
                          Message* out) {
  // Keys and values are always written, even if they are 0.
  FieldType key_type = *type.message->FindField(kMapKey);
  FieldType value_type = *type.message->FindField(kMapValue);
  key_type.has_presence = value_type.has_presence = true;

  struct Entry {
    Fields key;
    Fields value;
  };
  std::map<std::string, Entry> entries;  // By the encoded key.
  Fields unknown;
  for (const Field& field : fields) {
    Entry entry;
    bool is_known = true;
    ProtoDecoder decoder(field.as_bytes());
    for (Field part = decoder.ReadField(); part; part = decoder.ReadField()) {
      if (part.id() == kMapKey && part.type() == WireTypeOf(key_type)) {
        entry.key = {part};
      } else if (part.id() == kMapValue &&
                 part.type() == WireTypeOf(value_type)) {
        entry.value.push_back(part);
        is_known = IsValue(value_type, part.as_int32());
      }
    }
    if (decoder.status() != DecodeStatus::kOk)
      return Fail(DecodeStatusToString(decoder.status()));
    if (!is_known) {
      unknown.push_back(field);
      continue;
    }
    if (entry.key.empty())
      entry.key.push_back(DefaultOf(key_type));
    if (entry.value.empty())
      entry.value.push_back(DefaultOf(value_type));
    HeapBuffered<Message> key;
    if (!Write(key_type, entry.key, key.get()))
      return false;
    entries[key.SerializeAsString()] = std::move(entry);
  }
  for (const auto& [key, entry] : entries) {
    Message* message = out->BeginNestedMessage<Message>(type.id);
    if (!Write(key_type, entry.key, message) ||
        !Write(value_type, entry.value, message)) {
      return false;
    }
  }
  for (const Field& field : unknown)
    WriteUnknown(field, out);
  return true;
}

bool Transcoder::WriteStrings(const FieldType& type,
                              const Fields& fields,
                              Message* out) {
  for (const Field& field : fields) {
    const std::string_view value = field.as_string().ToStdStringView();
    if (type.is_utf8 && !program::IsUtf8(value))
      return Fail("field " + std::to_string(type.id) + " is not UTF-8");
    const bool is_written =
        type.is_repeated ||
        (&field == &fields.back() && (type.has_presence || !value.empty()));
    if (is_written)
      out->AppendString(type.id, value);
  }
  return true;
}

template <SchemaType schema_type>
bool Transcoder::WriteScalars(const FieldType& type,
                              const Fields& fields,
                              Message* out) {
  using Writer = internal::FieldWriter<schema_type>;
  if (!type.is_repeated) {
    const auto value = ValueOf<schema_type>(fields.back());
    const std::remove_const_t<decltype(value)> zero = 0;
    // Minus zero is not the default.
    if (type.has_presence || memcmp(&value, &zero, sizeof(value)) != 0)
      Writer::Append(*out, type.id, value);
    return true;
  }
  PackedBuffer<schema_type> packed;
  std::vector<int32_t> unknown;
  const auto write = [&](auto value) {
    if constexpr (schema_type == SchemaType::kEnum) {
      if (!IsValue(type, value)) {
        unknown.push_back(value);
        return;
      }
    }
    if (type.is_packed) {
      packed.Append(value);
    } else {
      Writer::Append(*out, type.id, value);
    }
  };
  for (const Field& field : fields) {
    if (field.type() != ProtoWireType::kLengthDelimited) {
      write(ValueOf<schema_type>(field));
      continue;
    }
    bool parse_error = false;
    for (const auto value : RepeatedScalarIterator<schema_type>(
             field.data(), field.size(), &parse_error)) {
      write(value);
    }
    if (parse_error) {
      return Fail("packed field " + std::to_string(type.id) + " is malformed");
    }
  }
  if (packed.size() > 0)
    out->AppendBytes(type.id, packed.data(), packed.size());
  if (!drops_unknown_fields_) {
    for (const int32_t number : unknown)
      out->AppendVarInt(type.id, number);
  }
  return true;
}

void Transcoder::WriteUnknown(const Field& field, Message* out) {
  if (drops_unknown_fields_)
    return;
  switch (field.type()) {
    case ProtoWireType::kVarInt:
      return out->AppendVarInt(field.id(), field.as_uint64());
    case ProtoWireType::kFixed64:
      return out->AppendFixed(field.id(), field.as_uint64());
    case ProtoWireType::kFixed32:
      return out->AppendFixed(field.id(), field.as_uint32());
    case ProtoWireType::kLengthDelimited:
      return out->AppendBytes(field.id(), field.data(), field.size());
    case ProtoWireType::kStartGroup:
      return out->BeginNestedGroup<Message>(field.id())
          ->AppendRawProtoBytes(field.data(), field.size());
    case ProtoWireType::kEndGroup:
      return;  // Not a field.
  }
}

}  // namespace protozero::conformance
