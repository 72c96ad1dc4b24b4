// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/compiler.h"

#include <stdio.h>
#include <stdlib.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void DcheckFailed(const char* file,
                  int line,
                  const char* condition,
                  const char* advice) {
  fprintf(stderr, "%s:%d: protozero: expected %s: %s\n", file, line, condition,
          advice);
  abort();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
