// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/symbolizer.h"

namespace pztrace {

class Symbolizer::Impl {};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

bool Symbolizer::IsBuilt() {
  return false;
}

bool Symbolizer::Open(const std::string&,
                      const std::string&,
                      const std::string&,
                      std::string* error) {
  *error = "this build has no names of functions";
  return false;
}

std::vector<Symbolizer::Line> Symbolizer::Find(uint64_t) {
  return {};
}

}  // namespace pztrace
