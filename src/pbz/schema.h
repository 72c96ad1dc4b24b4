// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_SCHEMA_H_
#define SRC_PBZ_SCHEMA_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/field.h"
#include "protozero/proto_utils.h"

namespace pbz {

using SchemaType = protozero::proto_utils::ProtoSchemaType;

struct MessageType;

// Field ids of the entries of maps.
inline constexpr uint32_t kMapKey = 1;
inline constexpr uint32_t kMapValue = 2;

struct EnumType {
  // Returns null if no value has that number. If several names have it, returns
  // the first one.
  const std::string* FindName(int32_t number) const;

  std::string full_name;
  // True if a number without a value makes an unknown field.
  bool is_closed = false;
  std::vector<std::pair<int32_t, std::string>> values;  // By number.
};

struct FieldType {
  uint32_t id = 0;
  std::string name;  // An extension has its full name.
  // The name in text format, where a group has the name of its type.
  std::string text_name;
  // kGroup for every field that is encoded as one, `DELIMITED` fields included.
  SchemaType type = SchemaType::kUnknown;
  bool is_extension = false;
  bool is_repeated = false;
  bool is_required = false;
  // True if values are written packed. They may be read either way.
  bool is_packed = false;
  // True if a value that equals the default is written.
  bool has_presence = false;
  bool is_utf8 = false;       // Strings with other bytes are malformed.
  int oneof_index = -1;       // An index in MessageType::oneofs; -1: none.
  std::string default_value;  // The text in the schema; empty if none.
  std::string type_name;      // The full name of the message, group or enum.
  // The type of a message or enum. Null for other fields, or if the schema
  // lacks the type.
  const MessageType* message = nullptr;
  const EnumType* enum_type = nullptr;

  bool is_message() const {
    return type == SchemaType::kMessage || type == SchemaType::kGroup;
  }

  // Returns whether |number| is a value of this field. Other numbers of a
  // closed enum are unknown fields.
  bool HasValue(int32_t number) const {
    return !enum_type || !enum_type->is_closed || enum_type->FindName(number);
  }
};

struct MessageType {
  // Finds a field or an extension. Returns null if there is none.
  const FieldType* FindField(uint32_t id) const;

  std::string full_name;
  size_t file = 0;  // Its index in the set.
  bool is_map_entry = false;
  bool is_message_set = false;      // option message_set_wire_format = true;
  std::vector<FieldType> fields;    // By id.
  std::vector<std::string> oneofs;  // Proto3's `optional` makes one, too.
};

// The messages and enums of a FileDescriptorSet, the output of
//
//   protoc --include_imports --descriptor_set_out=FILE
//
// for proto2, proto3 and editions. It is read with the library's own decoder,
// from any bytes. If a field stands there twice, the first one counts. A
// message that stands there twice has the fields of both.
//
// Not copyable; the types point to each other, and live as long as this.
class Schema {
 public:
  // The longest name, in bytes. Each line that shows a name is as long, so
  // longer ones are refused.
  static constexpr size_t kMaxName = 512;

  // Returns null, and says why in |error|, if the bytes are not a set of files
  // with at least one message.
  static std::unique_ptr<Schema> Parse(protozero::ConstBytes descriptor_set,
                                       std::string* error);

  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // Finds a message. |name| is a full name, or the end of one if only one
  // message has that end: "Trace" or "protos.Trace" for
  // "perfetto.protos.Trace". Returns null if no message has it, or several
  // have.
  const MessageType* FindMessage(std::string_view name) const;

  // Returns the full names of all messages that end in |name|.
  std::vector<std::string> NamesEndingIn(std::string_view name) const;

  // Returns the full names of the messages that a file may consist of: messages
  // that no other message refers to. If there are several, and some are in
  // files that no other file imports, it returns only these: an imported
  // message is seldom the one that a file consists of.
  std::vector<std::string> RootMessages() const;

  const std::map<std::string, MessageType, std::less<>>& messages() const {
    return messages_;
  }

  // Returns the names of types that fields refer to and the set lacks. A set
  // that was written without --include_imports lacks some.
  const std::vector<std::string>& missing_types() const {
    return missing_types_;
  }

  // Returns the number of fields and values of enums that the set defines more
  // than once, and differently, which protoc would not do, and the name of the
  // first one. The first definition counts.
  size_t num_conflicts() const { return num_conflicts_; }
  const std::string& first_conflict() const { return first_conflict_; }

 private:
  class Parser;

  Schema() = default;

  // The types, which point to each other: a map never moves its values.
  std::map<std::string, MessageType, std::less<>> messages_;
  std::map<std::string, EnumType, std::less<>> enums_;
  std::vector<bool> is_imported_;  // True if another file imports it.
  std::vector<std::string> missing_types_;
  size_t num_conflicts_ = 0;
  std::string first_conflict_;
};

}  // namespace pbz

#endif  // SRC_PBZ_SCHEMA_H_
