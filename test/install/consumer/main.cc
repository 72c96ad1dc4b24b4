// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A project that uses the library: writes one message to its output.

#include <stdio.h>

#include <string>

#include "protozero/scattered_heap_buffer.h"
#include "sensors/reading.pbzero.h"
#include "sensors/unit.pbzero.h"

int main() {
  protozero::HeapBuffered<consumer::writing::events::Reading> reading;
  reading->set_value(-40);
  reading->set_unit<consumer::writing::events::Unit>()->set_symbol("degrees");
  const std::string bytes = reading.SerializeAsString();
  return fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() ? 0 : 1;
}
