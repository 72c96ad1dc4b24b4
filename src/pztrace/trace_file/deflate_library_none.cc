// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/codec.h"

namespace pztrace {

CodecLibrary DeflateLibrary() {
  return {};
}

}  // namespace pztrace
