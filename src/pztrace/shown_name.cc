// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/shown_name.h"

#include <stddef.h>

#include "src/program/text.h"

namespace pztrace {

namespace {

// The limit of a name. Tables with longer ones cannot be read.
constexpr size_t kMaxShownBytes = 80;

}  // namespace

std::string Escaped(std::string_view text) {
  std::string quoted;
  program::AppendQuoted(text, &quoted);
  return quoted.substr(1, quoted.size() - 2);
}

std::string Cut(std::string_view name, size_t max_size) {
  if (name.size() <= max_size)
    return std::string(name);
  using program::ContinuesCharacter;
  size_t size = max_size;
  // A character has up to three bytes after its first one.
  while (size + 3 > max_size && size != 0 && ContinuesCharacter(name[size]))
    --size;
  return std::string(
             name.substr(0, ContinuesCharacter(name[size]) ? max_size : size)) +
         "...";
}

std::string ShownName(std::string_view name) {
  return Escaped(Cut(name, kMaxShownBytes));
}

}  // namespace pztrace
