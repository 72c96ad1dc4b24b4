// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdio.h>

#include "greeting.pbzero.h"
#include "protozero/static_buffer.h"

// Prints the size of a message.
int main() {
  protozero::StackBuffered<greeting::pbzero::Greeting, 64> greeting;
  greeting->set_text("hello");
  const size_t size = greeting.Finalize();
  printf("a greeting of %zu bytes\n", size);
  return size == 7 ? 0 : 1;
}
