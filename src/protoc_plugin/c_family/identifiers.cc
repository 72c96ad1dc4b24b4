// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/identifiers.h"

#include <stdint.h>
#include <stdio.h>

#include <string_view>

#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Hashes by FNV-1a, which is small, and the same on every machine, unlike
// std::hash.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 16777619u;
  }
  return hash;
}

}  // namespace

std::string EscapeName(const std::string& name, bool is_global) {
  const bool is_taken = IsKeyword(name) || IsCommonMacro(name) ||
                        IsBareName(name) || (is_global && IsGlobalName(name));
  return is_taken ? name + "_" : name;
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
    const char mapped = IsLetter(c) || IsDigit(c) ? ToUpperCase(c) : '_';
    // Two underscores in a row, or one in front, are reserved in C++.
    if (mapped == '_' && (guard.empty() || guard.back() == '_'))
      continue;
    guard += mapped;
  }
  if (guard.empty() || IsDigit(guard[0]))
    guard.insert(0, "PROTO_");
  return guard + suffix;
}

}  // namespace protozero::plugin
