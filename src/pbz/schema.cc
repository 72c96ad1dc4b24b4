// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/schema.h"

#include <algorithm>
#include <set>

namespace pbz {

namespace {

// Removes the dot with which type names of descriptors begin.
std::string_view WithoutDot(std::string_view name) {
  return !name.empty() && name.front() == '.' ? name.substr(1) : name;
}

bool EndsIn(std::string_view full_name, std::string_view name) {
  if (full_name.size() <= name.size())
    return full_name == name;
  const size_t begin = full_name.size() - name.size();
  return full_name[begin - 1] == '.' && full_name.substr(begin) == name;
}

}  // namespace

const std::string* EnumType::FindName(int32_t number) const {
  const auto it = std::lower_bound(
      values.begin(), values.end(), number,
      [](const auto& value, int32_t n) { return value.first < n; });
  return it != values.end() && it->first == number ? &it->second : nullptr;
}

const FieldType* MessageType::FindField(uint32_t id) const {
  const auto it =
      std::lower_bound(fields.begin(), fields.end(), id,
                       [](const FieldType& f, uint32_t i) { return f.id < i; });
  return it != fields.end() && it->id == id ? &*it : nullptr;
}

const MessageType* Schema::FindMessage(std::string_view name) const {
  name = WithoutDot(name);
  auto it = messages_.find(name);
  if (it == messages_.end()) {
    const std::vector<std::string> names = NamesEndingIn(name);
    if (names.size() != 1)
      return nullptr;
    it = messages_.find(names.front());
  }
  return &it->second;
}

std::vector<std::string> Schema::NamesEndingIn(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [full_name, message] : messages_) {
    if (EndsIn(full_name, name))
      names.push_back(full_name);
  }
  return names;
}

std::vector<std::string> Schema::RootMessages() const {
  std::set<const MessageType*> inner;
  for (const auto& [full_name, message] : messages_) {
    if (message.is_map_entry)
      continue;
    for (const FieldType& field : message.fields) {
      const MessageType* type = field.message;
      // An entry of a map is passed over: the type of its value counts.
      if (type && type->is_map_entry) {
        inner.insert(type);
        const FieldType* value = type->FindField(kMapValue);
        type = value ? value->message : nullptr;
      }
      if (type != &message)
        inner.insert(type);
    }
  }
  std::vector<std::string> all;
  std::vector<std::string> not_imported;
  for (const auto& [full_name, message] : messages_) {
    if (message.is_map_entry || inner.count(&message) != 0)
      continue;
    all.push_back(full_name);
    if (!is_imported_[message.file])
      not_imported.push_back(full_name);
  }
  return not_imported.empty() ? all : not_imported;
}

}  // namespace pbz
