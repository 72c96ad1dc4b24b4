// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/inflate.h"

namespace pztrace {

bool CanInflate() {
  return false;
}

bool Inflate(protozero::ConstBytes, size_t, std::string*) {
  return false;
}

}  // namespace pztrace
