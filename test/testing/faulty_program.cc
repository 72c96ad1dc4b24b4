// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Makes the N-th call of a program that links this fail, and with FAULTS=all
// all that follow, too. failing_calls.h lists the calls. Calls of all threads
// count, from the first constructor on.
//
//   FIRST_FAULT=N [FAULTS=all] [FAULT_COUNT=FILE] PROGRAM [ARGUMENT...]
//
// FILE gets the number of calls, if the program ends by exit().

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "test/testing/failing_calls.h"

namespace protozero::test {
namespace {

// This object is never destroyed, so that the program's last calls fail, too.
alignas(NthCallFails) unsigned char g_memory[sizeof(NthCallFails)];
NthCallFails* g_fault = nullptr;

void WriteCount() {
  g_fault->Stop();
  FILE* const file = fopen(getenv("FAULT_COUNT"), "w");
  if (file == nullptr)
    abort();
  fprintf(file, "%llu", static_cast<unsigned long long>(g_fault->count()));
  fclose(file);
}

struct Start {
  Start() {
    const char* const first = getenv("FIRST_FAULT");
    if (first == nullptr)
      return;
    if (getenv("FAULT_COUNT") != nullptr)
      atexit(WriteCount);
    const char* const which = getenv("FAULTS");
    g_fault = new (g_memory)
        NthCallFails(strtoull(first, nullptr, 10),
                     which != nullptr && strcmp(which, "all") == 0
                         ? NthCallFails::kFromThenOn
                         : NthCallFails::kOnce);
    // This makes the calls of this thread count for ever.
    alignas(CodeUnderTest) static unsigned char code[sizeof(CodeUnderTest)];
    new (code) CodeUnderTest;
  }
};
const Start g_start;

}  // namespace
}  // namespace protozero::test
