// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/text_parser.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "protozero/proto_utils.h"
#include "src/pbz/text_tokens.h"
#include "src/pbz/walk.h"
#include "src/program/text.h"
#include "src/program/varint.h"

namespace pbz {

namespace {

namespace proto_utils = protozero::proto_utils;
using program::AppendVarInt;
using Kind = TextTokens::Kind;

void AppendDelimited(uint32_t id, std::string_view value, std::string* bytes) {
  AppendVarInt(proto_utils::MakeTagLengthDelimited(id), bytes);
  AppendVarInt(value.size(), bytes);
  bytes->append(value);
}

// The integers that a type of field can have.
struct Range {
  int64_t least;
  uint64_t greatest;
};

template <typename T>
constexpr Range RangeOf() {
  return {static_cast<int64_t>(std::numeric_limits<T>::min()),
          static_cast<uint64_t>(std::numeric_limits<T>::max())};
}

Range RangeOf(SchemaType type) {
  switch (type) {
    case SchemaType::kUint32:
      return RangeOf<uint32_t>();
    case SchemaType::kInt64:
      return RangeOf<int64_t>();
    case SchemaType::kUint64:
      return RangeOf<uint64_t>();
    default:
      return RangeOf<int32_t>();
  }
}

// Parses an integer without a sign, as C writes them.
bool ParseInteger(std::string_view text, uint64_t* value) {
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const bool is_hex = text[1] == 'x' || text[1] == 'X';
    base = is_hex ? 16 : 8;
    text.remove_prefix(is_hex ? 2 : 1);
  }
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value, base);
  return result.ec == std::errc() && result.ptr == end;
}

// Returns the values that a field takes, for people.
std::string ValuesOf(const FieldType& field) {
  switch (field.type) {
    case SchemaType::kBool:
      return "true or false";
    case SchemaType::kString:
    case SchemaType::kBytes:
      return "a string in quotes";
    case SchemaType::kMessage:
      return "'{'";
    case SchemaType::kEnum: {
      std::string names;
      for (const auto& [number, name] : field.enum_type->values)
        names += (names.empty() ? "" : ", ") + name;
      return "one of " + names;
    }
    case SchemaType::kInt32:
    case SchemaType::kInt64:
    case SchemaType::kUint32:
    case SchemaType::kUint64: {
      const Range range = RangeOf(field.type);
      return "a number from " + std::to_string(range.least) + " to " +
             std::to_string(range.greatest);
    }
    default:
      return "no field of this type";
  }
}

std::string LastPart(const std::string& full_name) {
  return full_name.substr(full_name.rfind('.') + 1);
}

class TextParser {
 public:
  TextParser(std::string_view text, EncodedText* result)
      : tokens_(text), result_(result) {}

  // Encodes fields up to |end|, the closing bracket; 0 for the end of the text.
  // |begin_line| has the opening one. A message that the schema lacks has no
  // |type|; its fields are only passed. Returns false, and has set the error,
  // if the text is not valid; so do the following functions.
  bool ParseFields(const MessageType* type,
                   char end,
                   size_t begin_line,
                   int depth,
                   std::string* bytes) {
    std::set<uint32_t> ids;
    while (!AcceptEnd(end)) {
      if (tokens_.kind() == Kind::kEnd) {
        return Expected(std::string("'") + end + "' for the bracket in line " +
                        std::to_string(begin_line));
      }
      if (!ParseField(type, depth, &ids, bytes))
        return false;
      if (!tokens_.Accept(','))
        tokens_.Accept(';');
    }
    return true;
  }

 private:
  bool AcceptEnd(char end) {
    return end == 0 ? tokens_.kind() == Kind::kEnd : tokens_.Accept(end);
  }

  bool Expected(const std::string& what) {
    const std::string found = tokens_.kind() == Kind::kEnd
                                  ? "the end of the text"
                                  : "'" + std::string(tokens_.text()) + "'";
    return Fail("expected " + what + ", not " + found);
  }
  bool Fail(const std::string& why) { return Fail(tokens_.line(), why); }
  bool Fail(size_t line, const std::string& why) {
    result_->error = std::to_string(line) + ": " + program::Shown(why);
    return false;
  }

  bool ParseField(const MessageType* type,
                  int depth,
                  std::set<uint32_t>* ids,
                  std::string* bytes) {
    std::string name;
    const size_t line = tokens_.line();
    if (tokens_.kind() == Kind::kWord) {
      name = tokens_.text();
      tokens_.Next();
    } else if (!ParseExtensionName(&name)) {
      return false;
    }
    const FieldType* const field =
        type == nullptr ? nullptr : Find(*type, name);
    if (type != nullptr && field == nullptr) {
      result_->left_out.push_back(std::to_string(line) + ": '" +
                                  program::Shown(name) + "' is no field of " +
                                  LastPart(type->full_name));
    }
    if (field != nullptr && !field->is_repeated &&
        !ids->insert(field->id).second) {
      return Fail(line, "expected one '" + name + "', not several");
    }
    const bool has_colon = tokens_.Accept(':');
    if (has_colon && tokens_.Accept('['))
      return ParseList(field, depth, bytes);
    if (!has_colon && !IsMessageNext())
      return Expected("':' or '{' after '" + name + "'");
    return ParseValue(field, depth, bytes);
  }

  // Parses the name of an extension, or of a message in an Any.
  bool ParseExtensionName(std::string* name) {
    if (!tokens_.Accept('['))
      return Expected("the name of a field");
    *name = "[";
    while (!tokens_.Accept(']')) {
      if (tokens_.kind() == Kind::kEnd)
        return Expected("']'");
      *name += tokens_.text();
      tokens_.Next();
    }
    *name += ']';
    return true;
  }

  static const FieldType* Find(const MessageType& type,
                               const std::string& name) {
    const auto it = std::find_if(
        type.fields.begin(), type.fields.end(), [&](const FieldType& field) {
          return !field.is_extension && field.name == name;
        });
    return it == type.fields.end() ? nullptr : &*it;
  }

  bool IsMessageNext() const { return tokens_.Is('{') || tokens_.Is('<'); }

  // Parses the values of a list after its opening bracket.
  bool ParseList(const FieldType* field, int depth, std::string* bytes) {
    if (field != nullptr && !field->is_repeated)
      return Fail("expected one value of '" + field->name + "', not a list");
    if (tokens_.Accept(']'))
      return true;
    do {
      if (!ParseValue(field, depth, bytes))
        return false;
    } while (tokens_.Accept(','));
    return tokens_.Accept(']') || Expected("',' or ']'");
  }

  bool ParseValue(const FieldType* field, int depth, std::string* bytes) {
    if (field != nullptr && field->is_message() != IsMessageNext())
      return Expected(ValuesOf(*field));
    if (!IsMessageNext())
      return field == nullptr ? PassScalar() : ParseScalar(*field, bytes);
    // They are parsed with recursion.
    if (depth == kMaxDepth)
      return Fail("expected fewer messages within each other");
    const char end = tokens_.Is('{') ? '}' : '>';
    const size_t line = tokens_.line();
    tokens_.Next();
    std::string nested;
    if (!ParseFields(field == nullptr ? nullptr : field->message, end, line,
                     depth + 1, &nested)) {
      return false;
    }
    if (field != nullptr)
      AppendDelimited(field->id, nested, bytes);
    return true;
  }

  // Passes a value of a field that the schema lacks.
  bool PassScalar() {
    const bool is_negative = tokens_.Accept('-');
    if (tokens_.kind() == Kind::kString && !is_negative) {
      std::string value;
      return ParseString(&value);
    }
    if (tokens_.kind() != Kind::kWord && tokens_.kind() != Kind::kNumber)
      return Expected("a value");
    tokens_.Next();
    return true;
  }

  bool ParseScalar(const FieldType& field, std::string* bytes) {
    if (field.type == SchemaType::kString || field.type == SchemaType::kBytes) {
      std::string value;
      if (tokens_.kind() != Kind::kString)
        return Expected(ValuesOf(field));
      if (!ParseString(&value))
        return false;
      AppendDelimited(field.id, value, bytes);
      return true;
    }
    uint64_t value = 0;
    if (!FindValue(field, &value))
      return Expected(ValuesOf(field));
    tokens_.Next();
    AppendVarInt(proto_utils::MakeTagVarInt(field.id), bytes);
    AppendVarInt(value, bytes);
    return true;
  }

  // Finds the value of a bool, an enum or an integer. The token is its last one
  // then.
  bool FindValue(const FieldType& field, uint64_t* value) {
    const std::string_view word = tokens_.text();
    if (field.type == SchemaType::kBool && tokens_.kind() == Kind::kWord) {
      *value = word == "true" || word == "True" || word == "t";
      return *value || word == "false" || word == "False" || word == "f";
    }
    if (field.type == SchemaType::kEnum && tokens_.kind() == Kind::kWord) {
      for (const auto& [number, name] : field.enum_type->values) {
        if (name == word) {
          *value = static_cast<uint64_t>(int64_t{number});
          return true;
        }
      }
      return false;
    }
    const bool is_negative = tokens_.Accept('-');
    if (tokens_.kind() != Kind::kNumber ||
        !ParseInteger(tokens_.text(), value)) {
      return false;
    }
    switch (field.type) {
      case SchemaType::kBool:
        return !is_negative && *value <= 1;
      case SchemaType::kEnum:
      case SchemaType::kInt32:
      case SchemaType::kInt64:
      case SchemaType::kUint32:
      case SchemaType::kUint64:
        break;
      default:
        return false;
    }
    const Range range = RangeOf(field.type);
    // The least value has no positive counterpart of its type.
    const uint64_t limit =
        is_negative ? uint64_t{0} - static_cast<uint64_t>(range.least)
                    : range.greatest;
    if (*value > limit)
      return false;
    if (is_negative)
      *value = uint64_t{0} - *value;
    return true;
  }

  // Parses strings that follow each other, which are one.
  bool ParseString(std::string* value) {
    while (tokens_.kind() == Kind::kString) {
      if (!AppendUnescaped(tokens_.text(), value))
        return Expected("a whole string, with the escapes of C");
      tokens_.Next();
    }
    return true;
  }

  TextTokens tokens_;
  EncodedText* const result_;
};

}  // namespace

EncodedText EncodeText(std::string_view text, const MessageType& type) {
  EncodedText result;
  std::string bytes;
  if (TextParser(program::WithoutByteOrderMark(text), &result)
          .ParseFields(&type, 0, 1, 0, &bytes))
    result.bytes = std::move(bytes);
  return result;
}

}  // namespace pbz
