// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Own functions, because those of <ctype.h> depend on the locale.
bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

char ToLower(char c) {
  return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string Flatten(std::string name, const Message* outer) {
  for (; outer != nullptr; outer = outer->outer)
    name.insert(0, outer->name + "_");
  return name;
}

}  // namespace

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsLetter(char c) {
  return IsLower(c) || IsUpper(c);
}

bool IsWordChar(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_';
}

char ToUpperCase(char c) {
  return IsLower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

bool IsIdentifier(std::string_view name) {
  if (name.empty() || IsDigit(name[0]))
    return false;
  for (const char c : name) {
    if (!IsWordChar(c))
      return false;
  }
  return true;
}

std::string ToLowerCase(const std::string& name) {
  std::string lower;
  for (const char c : name)
    lower += ToLower(c);
  return lower;
}

std::string ToCamelCase(const std::string& name) {
  std::string camel;
  bool word_begins = true;
  for (const char c : name) {
    if (c == '_') {
      word_begins = true;
      continue;
    }
    camel += word_begins ? ToUpperCase(c) : c;
    word_begins = false;
  }
  return camel;
}

std::string FlatName(const Message& message) {
  return Flatten(message.name, message.outer);
}

std::string FlatName(const Enum& entry) {
  return Flatten(entry.name, entry.outer);
}

std::string StripProtoSuffix(const std::string& path) {
  for (const std::string_view suffix : {".proto", ".protodevel"}) {
    if (path.size() > suffix.size() &&
        path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
      return path.substr(0, path.size() - suffix.size());
    }
  }
  return path;
}

std::string PathIdentifier(const std::string& proto_path) {
  std::string identifier;
  for (const char c : StripProtoSuffix(proto_path))
    identifier += IsLetter(c) || IsDigit(c) ? c : '_';
  if (IsDigit(identifier[0]))
    identifier.insert(0, "_");
  return identifier;
}

}  // namespace protozero::plugin
