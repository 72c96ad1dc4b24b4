// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_path.h"

#include <stddef.h>
#include <stdlib.h>

#include <algorithm>

#include "protozero/proto_utils.h"
#include "src/pbz/walk.h"

namespace pbz {

namespace {

// Removes the first field, and the dot after it, from |path|. Returns the
// field.
std::string TakeField(std::string_view* path) {
  const size_t bracket =
      !path->empty() && path->front() == '[' ? path->find(']') : 0;
  const size_t end = std::min(
      path->find('.', bracket == path->npos ? 0 : bracket), path->size());
  std::string field(path->substr(0, end));
  path->remove_prefix(std::min(end + 1, path->size()));
  return field;
}

// Returns the number in |text|, or 0 if it is no field number.
uint32_t FieldNumber(const std::string& text) {
  constexpr size_t kMaxDigits = 9;  // The digits of the largest field number.
  if (text.empty() || text.size() > kMaxDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return 0;
  }
  const unsigned long number = strtoul(text.c_str(), nullptr, 10);
  return number <= protozero::proto_utils::kMaxFieldId
             ? static_cast<uint32_t>(number)
             : 0;
}

const FieldType* FindByName(const MessageType& type, const std::string& name) {
  for (const FieldType& field : type.fields) {
    if (PathName(field) == name || field.text_name == name)
      return &field;
  }
  return nullptr;
}

}  // namespace

std::vector<PathStep> ParseFieldPath(std::string_view text,
                                     const MessageType* type,
                                     std::string* error) {
  std::vector<PathStep> path;
  const bool has_schema = type != nullptr;
  // An empty path is parsed as one field with an empty name.
  do {
    const std::string field = TakeField(&text);
    PathStep step;
    step.id = FieldNumber(field);
    if (!has_schema && step.id == 0) {
      *error = "'" + field + "' is no field number; names need --schema";
      return {};
    }
    if (has_schema) {
      if (!type) {
        *error = PathName(*path.back().type) + " has no fields";
        return {};
      }
      step.type =
          step.id != 0 ? type->FindField(step.id) : FindByName(*type, field);
      if (!step.type) {
        *error = type->full_name + " has no field '" + field + "'";
        return {};
      }
      step.id = step.type->id;
      type = step.type->message;
    }
    path.push_back(step);
    if (path.size() > size_t{kMaxDepth}) {
      *error = "no message is as deep as that path";
      return {};
    }
  } while (!text.empty());
  return path;
}

std::string PathName(const FieldType& field) {
  return field.is_extension ? '[' + field.name + ']' : field.name;
}

}  // namespace pbz
