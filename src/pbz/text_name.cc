// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/text_name.h"

#include <stddef.h>

#include <algorithm>
#include <string_view>

namespace pbz {

namespace {

// Return the parts of a name before and after its last dot.
std::string_view ScopeOf(std::string_view full_name) {
  const size_t dot = full_name.rfind('.');
  return full_name.substr(0, dot == std::string_view::npos ? 0 : dot);
}
std::string_view LastOf(std::string_view full_name) {
  return full_name.substr(full_name.rfind('.') + 1);
}

bool IsLowerCaseOf(std::string_view lower, std::string_view name) {
  return std::equal(lower.begin(), lower.end(), name.begin(), name.end(),
                    [](char a, char b) {
                      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                    });
}

// Returns whether |field| of |message| could have been declared as a `group` of
// proto2. A group declares the type and the field in one: the field has the
// type's name in lower case, and both are in one scope of one file. Text format
// treats any other field that is encoded as a group like a usual one.
bool IsLikeGroup(const FieldType& field, const MessageType& message) {
  return field.type == SchemaType::kGroup && field.message &&
         IsLowerCaseOf(field.name, LastOf(field.message->full_name)) &&
         field.message->file == message.file &&
         ScopeOf(field.message->full_name) == message.full_name;
}

// Returns whether |extension| extends a message set, and was declared inside
// the message that is its type. Such an extension has the name of that message.
bool IsOfMessageSet(const FieldType& extension, const MessageType& message) {
  return message.is_message_set && extension.type == SchemaType::kMessage &&
         !extension.is_repeated && !extension.is_required &&
         ScopeOf(extension.name) == extension.type_name;
}

}  // namespace

std::string TextName(const FieldType& field, const MessageType& message) {
  if (field.is_extension) {
    const bool has_name_of_type = IsOfMessageSet(field, message);
    return '[' + (has_name_of_type ? field.type_name : field.name) + ']';
  }
  return IsLikeGroup(field, message)
             ? std::string(LastOf(field.message->full_name))
             : field.name;
}

}  // namespace pbz
