// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/schema.h"
#include "src/pbz/text_name.h"

// Reads the messages of google/protobuf/descriptor.proto.

namespace pbz {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::ProtoDecoder;
using protozero::proto_utils::ProtoWireType;

// The limit of messages that are declared inside each other. Types are parsed
// with recursion.
constexpr int kMaxNestedTypes = 100;

// The limit of bytes in full names of types for each byte of the set. Without
// it, a message with a long name and many others in it would fill any memory.
constexpr size_t kMaxNameBytesPerByte = 16;
constexpr size_t kMinNameBytes = 4096;

// Field ids of google/protobuf/descriptor.proto.
namespace file_set {
enum : uint32_t { kFile = 1 };
}
namespace file {
enum : uint32_t {
  kName = 1,
  kPackage = 2,
  kDependency = 3,
  kMessage = 4,
  kEnum = 5,
  kExtension = 7,
  kOptions = 8,
  kSyntax = 12,
  kEdition = 14,
  kOptionsFeatures = 50,
};
}
namespace message {
enum : uint32_t {
  kName = 1,
  kField = 2,
  kNested = 3,
  kEnum = 4,
  kExtension = 6,
  kOptions = 7,
  kOneof = 8,
  kOptionsMessageSet = 1,
  kOptionsMapEntry = 7,
  kOptionsFeatures = 12,
};
}
namespace oneof {
enum : uint32_t { kName = 1 };
}
namespace field {
enum : uint32_t {
  kName = 1,
  kExtendee = 2,
  kNumber = 3,
  kLabel = 4,
  kType = 5,
  kTypeName = 6,
  kDefault = 7,
  kOptions = 8,
  kOneofIndex = 9,
  kProto3Optional = 17,
  kOptionsPacked = 2,
  kOptionsFeatures = 21,
};
enum : uint64_t { kRequired = 2, kRepeated = 3 };  // Labels.
}  // namespace field
namespace enum_type {
enum : uint32_t {
  kName = 1,
  kValue = 2,
  kOptions = 3,
  kOptionsFeatures = 7,
  kValueName = 1,
  kValueNumber = 2,
};
}
namespace features {
enum : uint32_t {
  kPresence = 1,
  kEnumType = 2,
  kRepeatedEncoding = 3,
  kUtf8Validation = 4,
  kMessageEncoding = 5,
};
enum : uint64_t {
  kImplicit = 2,
  kLegacyRequired = 3,
  kClosed = 2,
  kPacked = 1,
  kVerify = 2,
  kDelimited = 2,
};
}  // namespace features

// Returns a name that can be shown to people. Characters that no name has, such
// as those that control a terminal, become question marks.
std::string Name(const Field& field) {
  std::string name = field.as_std_string();
  for (char& c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '.')
      c = '?';
  }
  return name;
}

// Properties that proto2 and proto3 fix for a file. Editions let each part of
// the file choose.
struct Features {
  bool has_presence = true;
  bool is_required = false;
  bool is_closed = true;
  bool is_packed = false;
  bool is_utf8 = false;
  bool is_delimited = false;

  // Returns these features with the changes in |options|, which belong to a
  // file, message, enum or field. Each kind has the features in a field of
  // another id.
  Features With(const Field& options, uint32_t features_id) const {
    Features result = *this;
    ProtoDecoder set(
        ProtoDecoder(options.as_bytes()).FindField(features_id).as_bytes());
    for (Field f = set.ReadField(); f.valid(); f = set.ReadField()) {
      const uint64_t value = f.as_uint64();
      switch (f.id()) {
        case features::kPresence:
          result.has_presence = value != features::kImplicit;
          result.is_required = value == features::kLegacyRequired;
          break;
        case features::kEnumType:
          result.is_closed = value == features::kClosed;
          break;
        case features::kRepeatedEncoding:
          result.is_packed = value == features::kPacked;
          break;
        case features::kUtf8Validation:
          result.is_utf8 = value == features::kVerify;
          break;
        case features::kMessageEncoding:
          result.is_delimited = value == features::kDelimited;
          break;
      }
    }
    return result;
  }
};

bool IsPackable(SchemaType type) {
  return type != SchemaType::kGroup && type != SchemaType::kUnknown &&
         protozero::proto_utils::ProtoSchemaToWireType(type) !=
             ProtoWireType::kLengthDelimited;
}

// Returns a type's name without the dot that it has in descriptors.
std::string TypeName(const Field& field) {
  const std::string name = Name(field);
  return name.compare(0, 1, ".") == 0 ? name.substr(1) : name;
}

}  // namespace

class Schema::Parser {
 public:
  explicit Parser(Schema* schema) : schema_(schema) {}

  bool ParseSet(ConstBytes set) {
    max_name_bytes_ = kMinNameBytes + kMaxNameBytesPerByte * set.size;
    return ForEach(set, [this](const Field& f) {
      if (f.id() != file_set::kFile)
        return true;
      const bool ok = ParseFile(f.as_bytes());
      ++file_;
      return ok;
    });
  }

  // Adds the extensions to the messages that they extend, then connects fields
  // and types.
  void Link() {
    for (auto& [extendee, extension] : extensions_) {
      const auto it = schema_->messages_.find(extendee);
      if (it == schema_->messages_.end())
        AddMissing(extendee);
      else
        it->second.fields.push_back(std::move(extension));
    }
    for (auto& [name, message] : schema_->messages_) {
      RemoveDuplicates(&message);
      for (FieldType& field : message.fields) {
        LinkField(&field);
        field.text_name = TextName(field, message);
      }
    }
    for (auto& [name, type] : schema_->enums_)
      SortValues(&type);
    for (const std::string& name : file_names_)
      schema_->is_imported_.push_back(imports_.count(name) != 0);
    auto& missing = schema_->missing_types_;
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  }

  const char* error() const { return error_; }

 private:
  // Calls |parse| with all fields of a message, until it returns false. Returns
  // false if it does or if the bytes are malformed.
  template <typename Parse>
  bool ForEach(ConstBytes bytes, Parse parse) {
    ProtoDecoder decoder(bytes);
    for (Field f = decoder.ReadField(); f.valid(); f = decoder.ReadField()) {
      if (!parse(f))
        return false;
    }
    if (decoder.status() != protozero::DecodeStatus::kOk) {
      error_ = protozero::DecodeStatusToString(decoder.status());
      return false;
    }
    return true;
  }

  bool ParseFile(ConstBytes bytes) {
    ProtoDecoder decoder(bytes);
    const std::string package = Name(decoder.FindField(file::kPackage));
    file_names_.push_back(decoder.FindField(file::kName).as_std_string());
    Features features;  // They begin as proto2's.
    if (decoder.FindField(file::kEdition).valid()) {
      features.is_closed = false;
      features.is_packed = true;
      features.is_utf8 = true;
    } else if (decoder.FindField(file::kSyntax).as_string().ToStdStringView() ==
               "proto3") {
      features.has_presence = false;
      features.is_closed = false;
      features.is_packed = true;
      features.is_utf8 = true;
    }
    features = features.With(decoder.FindField(file::kOptions),
                             file::kOptionsFeatures);
    return ForEach(bytes, [&](const Field& f) {
      switch (f.id()) {
        case file::kMessage:
          return ParseMessage(f.as_bytes(), package, features, 0);
        case file::kEnum:
          return ParseEnum(f.as_bytes(), package, features);
        case file::kExtension:
          return ParseExtension(f.as_bytes(), package, features);
        case file::kDependency:
          imports_.insert(f.as_std_string());
          return true;
      }
      return true;
    });
  }

  bool ParseMessage(ConstBytes bytes,
                    const std::string& scope,
                    const Features& parent_features,
                    int depth) {
    if (depth > kMaxNestedTypes) {
      error_ = "types are nested too deeply";
      return false;
    }
    ProtoDecoder decoder(bytes);
    MessageType type;
    if (!Join(scope, Name(decoder.FindField(message::kName)), &type.full_name))
      return false;
    type.file = file_;
    const Field options = decoder.FindField(message::kOptions);
    type.is_message_set = ProtoDecoder(options.as_bytes())
                              .FindField(message::kOptionsMessageSet)
                              .as_bool();
    const Features features =
        parent_features.With(options, message::kOptionsFeatures);
    type.is_map_entry = ProtoDecoder(options.as_bytes())
                            .FindField(message::kOptionsMapEntry)
                            .as_bool();
    const bool ok = ForEach(bytes, [&](const Field& f) {
      switch (f.id()) {
        case message::kField:
          type.fields.emplace_back();
          return ParseField(f.as_bytes(), features, &type.fields.back());
        case message::kNested:
          return ParseMessage(f.as_bytes(), type.full_name, features,
                              depth + 1);
        case message::kEnum:
          return ParseEnum(f.as_bytes(), type.full_name, features);
        case message::kExtension:
          return ParseExtension(f.as_bytes(), type.full_name, features);
        case message::kOneof:
          type.oneofs.push_back(
              Name(ProtoDecoder(f.as_bytes()).FindField(oneof::kName)));
          return true;
      }
      return true;
    });
    if (type.is_map_entry) {
      // Keys and values of maps are never groups, whatever the features of the
      // file are.
      for (FieldType& field : type.fields) {
        if (field.type == SchemaType::kGroup)
          field.type = SchemaType::kMessage;
      }
    }
    std::string name = type.full_name;
    const auto [it, is_new] =
        schema_->messages_.try_emplace(std::move(name), std::move(type));
    if (!is_new) {
      // This is another definition of the same message. Its fields are added as
      // extensions are.
      for (FieldType& field : type.fields) {
        field.oneof_index = -1;
        extensions_.emplace_back(it->first, std::move(field));
      }
    }
    return ok;
  }

  bool ParseField(ConstBytes bytes,
                  const Features& parent_features,
                  FieldType* type) {
    bool proto3_optional = false;
    Field options = Field();
    const bool ok = ForEach(bytes, [&](const Field& f) {
      const uint64_t number = f.as_uint64();
      switch (f.id()) {
        case field::kName:
          type->name = Name(f);
          return CheckName(type->name);
        case field::kNumber:
          type->id = f.as_uint32();
          break;
        case field::kLabel:
          type->is_repeated = number == field::kRepeated;
          type->is_required = number == field::kRequired;
          break;
        case field::kType:
          if (number <= static_cast<uint64_t>(SchemaType::kSint64))
            type->type = static_cast<SchemaType>(number);
          break;
        case field::kTypeName:
          type->type_name = TypeName(f);
          break;
        case field::kDefault:
          type->default_value = f.as_std_string();
          break;
        case field::kOptions:
          options = f;
          break;
        case field::kOneofIndex:
          type->oneof_index = f.as_int32();
          break;
        case field::kProto3Optional:
          proto3_optional = f.as_bool();
          break;
      }
      return true;
    });

    const Features features =
        parent_features.With(options, field::kOptionsFeatures);
    const bool is_message =
        type->type == SchemaType::kMessage || type->type == SchemaType::kGroup;
    if (type->type == SchemaType::kMessage && features.is_delimited)
      type->type = SchemaType::kGroup;
    type->is_required |= features.is_required;
    type->is_utf8 = type->type == SchemaType::kString && features.is_utf8;
    type->has_presence =
        !type->is_repeated && (features.has_presence || is_message ||
                               proto3_optional || type->oneof_index >= 0);
    if (type->is_repeated && IsPackable(type->type)) {
      type->is_packed = features.is_packed;
      const Field packed =
          ProtoDecoder(options.as_bytes()).FindField(field::kOptionsPacked);
      if (packed.valid())
        type->is_packed = packed.as_bool();
    }
    return ok;
  }

  bool ParseExtension(ConstBytes bytes,
                      const std::string& scope,
                      const Features& features) {
    FieldType type;
    const bool ok = ParseField(bytes, features, &type) &&
                    Join(scope, std::string(type.name), &type.name);
    type.is_extension = true;
    extensions_.emplace_back(
        TypeName(ProtoDecoder(bytes).FindField(field::kExtendee)),
        std::move(type));
    return ok;
  }

  bool ParseEnum(ConstBytes bytes,
                 const std::string& scope,
                 const Features& parent_features) {
    ProtoDecoder decoder(bytes);
    EnumType type;
    if (!Join(scope, Name(decoder.FindField(enum_type::kName)),
              &type.full_name))
      return false;
    type.is_closed = parent_features
                         .With(decoder.FindField(enum_type::kOptions),
                               enum_type::kOptionsFeatures)
                         .is_closed;
    const bool ok = ForEach(bytes, [&](const Field& f) {
      if (f.id() == enum_type::kValue) {
        ProtoDecoder value(f.as_bytes());
        const Field name = value.FindField(enum_type::kValueName);
        const Field number = value.FindField(enum_type::kValueNumber);
        type.values.emplace_back(number.as_int32(), Name(name));
        return CheckName(type.values.back().second);
      }
      return true;
    });
    std::string name = type.full_name;
    const auto [it, is_new] =
        schema_->enums_.try_emplace(std::move(name), std::move(type));
    if (!is_new) {
      auto& values = it->second.values;
      values_once_.try_emplace(&it->second, values.size());
      values.insert(values.end(), type.values.begin(), type.values.end());
    }
    return ok;
  }

  // Sets |result| to the full name of |name| in |scope|. Returns false if it is
  // too long.
  bool Join(const std::string& scope,
            const std::string& name,
            std::string* result) {
    *result = scope.empty() ? name : scope + '.' + name;
    name_bytes_ += result->size();
    return name_bytes_ <= max_name_bytes_ ? CheckName(*result) : RefuseNames();
  }

  bool CheckName(const std::string& name) {
    return name.size() <= kMaxName || RefuseNames();
  }

  bool RefuseNames() {
    error_ = "the names of its types are too long";
    return false;
  }

  // Sorts the fields by id. Keeps the first one of each id, and of each name.
  void RemoveDuplicates(MessageType* message) {
    std::vector<FieldType> kept;
    kept.reserve(message->fields.size());
    std::map<uint32_t, const FieldType*> by_id;
    // An extension without a package may have the name of a field.
    std::set<std::pair<bool, std::string_view>> names;
    for (FieldType& field : message->fields) {
      const auto known = by_id.find(field.id);
      if (known == by_id.end() &&
          (field.name.empty() ||
           names.count({field.is_extension, field.name}) == 0)) {
        kept.push_back(std::move(field));
        const FieldType& first = kept.back();
        by_id.emplace(first.id, &first);
        names.emplace(first.is_extension, first.name);
      } else if (known == by_id.end() || !IsSame(*known->second, field)) {
        AddConflict(field.is_extension ? "" : message->full_name, field.name);
      }
    }
    std::sort(
        kept.begin(), kept.end(),
        [](const FieldType& a, const FieldType& b) { return a.id < b.id; });
    message->fields = std::move(kept);
  }

  static std::string_view LastPartOf(std::string_view name) {
    return name.substr(name.rfind('.') + 1);
  }

  // Returns whether both describe a field in the same way. One may be an
  // extension: traces describe fields that older schemas lack as extensions.
  static bool IsSame(const FieldType& a, const FieldType& b) {
    const bool has_same_name = a.is_extension == b.is_extension
                                   ? a.name == b.name
                                   : LastPartOf(a.name) == LastPartOf(b.name);
    return has_same_name && a.type == b.type &&
           a.is_repeated == b.is_repeated && a.type_name == b.type_name;
  }

  void SortValues(EnumType* type) {
    auto& values = type->values;
    const auto once = values_once_.find(type);
    if (once != values_once_.end()) {
      // The values of the first definition, which may give two names to a
      // number.
      const auto end = values.begin() + static_cast<ptrdiff_t>(once->second);
      const std::set<std::pair<int32_t, std::string>> known(values.begin(),
                                                            end);
      for (auto value = end; value != values.end(); ++value) {
        const auto same_number = known.lower_bound({value->first, ""});
        if (same_number != known.end() && same_number->first == value->first &&
            known.count(*value) == 0) {
          AddConflict(type->full_name, value->second);
        }
      }
    }
    std::stable_sort(
        values.begin(), values.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  void LinkField(FieldType* field) {
    switch (field->type) {
      case SchemaType::kMessage:
      case SchemaType::kGroup: {
        const auto it = schema_->messages_.find(field->type_name);
        if (it == schema_->messages_.end())
          AddMissing(field->type_name);
        else
          field->message = &it->second;
        // Maps are repeated messages, whatever feature the file has for
        // messages.
        if (field->message && field->message->is_map_entry)
          field->type = SchemaType::kMessage;
        break;
      }
      case SchemaType::kEnum: {
        const auto it = schema_->enums_.find(field->type_name);
        if (it == schema_->enums_.end())
          AddMissing(field->type_name);
        else
          field->enum_type = &it->second;
        break;
      }
      default:
        break;
    }
  }

  void AddConflict(const std::string& scope, const std::string& name) {
    if (schema_->num_conflicts_++ == 0)
      schema_->first_conflict_ = scope.empty() ? name : scope + '.' + name;
  }

  void AddMissing(const std::string& name) {
    schema_->missing_types_.push_back(name);
  }

  Schema* const schema_;
  size_t file_ = 0;  // The file that is being parsed.
  std::vector<std::string> file_names_;
  std::set<std::string> imports_;
  // Extensions, and the message that each one extends. Fields of a message's
  // later definitions are here, too.
  std::vector<std::pair<std::string, FieldType>> extensions_;
  // The number of values that an enum had before it was defined again.
  std::map<const EnumType*, size_t> values_once_;
  size_t name_bytes_ = 0;  // The size of all full names.
  size_t max_name_bytes_ = 0;
  const char* error_ = nullptr;
};

std::unique_ptr<Schema> Schema::Parse(ConstBytes descriptor_set,
                                      std::string* error) {
  std::unique_ptr<Schema> schema(new Schema);
  Parser parser(schema.get());
  if (!parser.ParseSet(descriptor_set)) {
    *error = std::string("not a descriptor set: ") + parser.error();
    return nullptr;
  }
  parser.Link();
  if (schema->messages_.empty()) {
    *error = "not a descriptor set: it has no messages";
    return nullptr;
  }
  return schema;
}

}  // namespace pbz
