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
  // A number without a value is an unknown field.
  bool is_closed = false;
  std::vector<std::pair<int32_t, std::string>> values;  // By number.
};

struct FieldType {
  uint32_t id = 0;
  std::string name;  // An extension has its full name.
  // As text format calls it, where groups have the name of their type.
  std::string text_name;
  // kGroup for every field that is encoded as one, `DELIMITED` fields included.
  SchemaType type = SchemaType::kUnknown;
  bool is_extension = false;
  bool is_repeated = false;
  bool is_required = false;
  // Values are written packed. They may be read either way.
  bool is_packed = false;
  // Whether a value that equals the default is written.
  bool has_presence = false;
  bool is_utf8 = false;       // Strings with other bytes are malformed.
  int oneof_index = -1;       // In MessageType::oneofs; -1: in none.
  std::string default_value;  // As the schema has it; empty if it has none.
  std::string type_name;      // The full name of the message, group or enum.
  // Null if the field is none, or if the schema lacks its type.
  const MessageType* message = nullptr;
  const EnumType* enum_type = nullptr;

  bool is_message() const {
    return type == SchemaType::kMessage || type == SchemaType::kGroup;
  }

  // Whether |number| is a value of this field. Others of a closed enum are
  // unknown fields.
  bool HasValue(int32_t number) const {
    return !enum_type || !enum_type->is_closed || enum_type->FindName(number);
  }
};

struct MessageType {
  // Extensions too. Returns null if there is none.
  const FieldType* FindField(uint32_t id) const;

  std::string full_name;
  size_t file = 0;  // Its index in the set.
  bool is_map_entry = false;
  bool is_message_set = false;      // option message_set_wire_format = true;
  std::vector<FieldType> fields;    // By id.
  std::vector<std::string> oneofs;  // Proto3's `optional` makes one, too.
};

// The messages and enums of a FileDescriptorSet, which is what
//
//   protoc --include_imports --descriptor_set_out=FILE
//
// writes: proto2, proto3 and editions. Reads them, with the library's own
// decoder, from any bytes: if a field stands there twice, the first one counts.
// A message that stands there twice has the fields of both.
//
// Not copyable; the types point to each other, and live as long as this.
class Schema {
 public:
  // In bytes. Longer ones, which make each line that shows them as long, are
  // refused.
  static constexpr size_t kMaxName = 512;

  // Returns null, and says why in |error|, if the bytes are not a set of files
  // with at least one message.
  static std::unique_ptr<Schema> Parse(protozero::ConstBytes descriptor_set,
                                       std::string* error);

  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // |name| is a full name, or the end of one if only one message has that end:
  // "Trace" or "protos.Trace" for "perfetto.protos.Trace". Returns null if none
  // has, or several.
  const MessageType* FindMessage(std::string_view name) const;

  // The full names of all messages whose name ends in |name|.
  std::vector<std::string> NamesEndingIn(std::string_view name) const;

  // The full names of the messages that a file may consist of: messages that no
  // other message refers to. If there are several, only those of files that no
  // other file imports, if there are any: an imported message is seldom the one
  // that a file consists of.
  std::vector<std::string> RootMessages() const;

  const std::map<std::string, MessageType, std::less<>>& messages() const {
    return messages_;
  }

  // The names of types that fields refer to and the set lacks, as it does if it
  // was written without --include_imports.
  const std::vector<std::string>& missing_types() const {
    return missing_types_;
  }

  // Counts the fields and values of enums that the set defines more than once,
  // and differently, as protoc would not do it, and names the first. The first
  // definition counts.
  size_t num_conflicts() const { return num_conflicts_; }
  const std::string& first_conflict() const { return first_conflict_; }

 private:
  class Parser;

  Schema() = default;

  // A map never moves its values.
  std::map<std::string, MessageType, std::less<>> messages_;
  std::map<std::string, EnumType, std::less<>> enums_;
  std::vector<bool> is_imported_;  // Whether another file imports the file.
  std::vector<std::string> missing_types_;
  size_t num_conflicts_ = 0;
  std::string first_conflict_;
};

}  // namespace pbz

#endif  // SRC_PBZ_SCHEMA_H_
