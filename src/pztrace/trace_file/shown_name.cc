// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/shown_name.h"

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
  std::string cut(program::CutAtCharacter(name, max_size));
  if (cut.size() != name.size())
    cut += "...";
  return cut;
}

std::string ShownName(std::string_view name) {
  return Escaped(Cut(name, kMaxShownBytes));
}

std::string ShownProcess(std::string_view name, int64_t pid) {
  return ShownName(name) + " (" + std::to_string(pid) + ")";
}

}  // namespace pztrace
