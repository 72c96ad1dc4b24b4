// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/naming.h"

#include <stdint.h>
#include <stdio.h>

#include "src/protoc_plugin/reserved_words.h"

namespace protozero::plugin {

namespace {

// <ctype.h> depends on the locale; names of a schema are plain ASCII.
bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

char ToUpper(char c) {
  return IsLower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

char ToLower(char c) {
  return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
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

// FNV-1a: small, and the same on every machine, which std::hash is not.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 16777619u;
  }
  return hash;
}

}  // namespace

bool IsIdentifier(std::string_view name) {
  if (name.empty() || IsDigit(name[0]))
    return false;
  for (const char c : name) {
    if (!IsLower(c) && !IsUpper(c) && !IsDigit(c) && c != '_')
      return false;
  }
  return true;
}

std::string EscapeName(const std::string& name) {
  return IsKeyword(name) || IsCommonMacro(name) ? name + "_" : name;
}

std::string EscapeGlobalName(const std::string& name) {
  return IsGlobalName(name) ? name + "_" : EscapeName(name);
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
    camel += word_begins ? ToUpper(c) : c;
    word_begins = false;
  }
  return camel;
}

std::string Qualify(const std::vector<std::string>& namespaces) {
  std::string qualified;
  for (const std::string& name : namespaces)
    qualified += "::" + name;
  return qualified;
}

std::string HeaderPath(const std::string& proto_path) {
  return StripProtoSuffix(proto_path) + ".pbzero.h";
}

std::string SourcePath(const std::string& proto_path) {
  return StripProtoSuffix(proto_path) + ".pbzero.cc";
}

std::string IncludeGuard(const std::string& header_path,
                         const std::vector<std::string>& namespaces) {
  // The readable part is ambiguous: a/b.proto and a_b.proto, or one file
  // generated into two wrapper namespaces. The hash tells them apart.
  const uint32_t hash = Hash(header_path + "\n" + Qualify(namespaces));
  char suffix[16];
  snprintf(suffix, sizeof(suffix), "_%08X_", static_cast<unsigned>(hash));

  std::string guard;
  for (const char c : header_path) {
    const char mapped =
        IsLower(c) || IsUpper(c) || IsDigit(c) ? ToUpper(c) : '_';
    // Two underscores in a row, or one in front, are reserved in C++.
    if (mapped == '_' && (guard.empty() || guard.back() == '_'))
      continue;
    guard += mapped;
  }
  if (guard.empty() || IsDigit(guard[0]))
    guard.insert(0, "PROTO_");
  return guard + suffix;
}

std::string PathIdentifier(const std::string& proto_path) {
  std::string identifier;
  for (const char c : StripProtoSuffix(proto_path))
    identifier += IsLower(c) || IsUpper(c) || IsDigit(c) ? c : '_';
  if (IsDigit(identifier[0]))
    identifier.insert(0, "_");
  return identifier;
}

}  // namespace protozero::plugin
