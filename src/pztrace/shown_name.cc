// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/shown_name.h"

#include <stddef.h>

#include "src/pbz/text.h"

namespace pztrace {

namespace {

// Longer names make no table.
constexpr size_t kMaxShownBytes = 80;

}  // namespace

std::string Escaped(std::string_view text) {
  std::string quoted;
  pbz::AppendQuoted(text, &quoted);
  return quoted.substr(1, quoted.size() - 2);
}

std::string ShownName(std::string_view name) {
  const std::string_view begin = name.substr(0, kMaxShownBytes);
  return Escaped(begin) + (begin.size() == name.size() ? "" : "...");
}

}  // namespace pztrace
