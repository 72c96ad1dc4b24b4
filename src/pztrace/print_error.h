// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PRINT_ERROR_H_
#define SRC_PZTRACE_PRINT_ERROR_H_

#include <stdarg.h>
#include <stdio.h>

namespace pztrace {

// Why the program is about to give up.
__attribute__((format(printf, 1, 2))) inline void PrintError(const char* format,
                                                             ...) {
  fputs("pztrace: ", stderr);
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

}  // namespace pztrace

#endif  // SRC_PZTRACE_PRINT_ERROR_H_
