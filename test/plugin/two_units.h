// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_TWO_UNITS_H_
#define TEST_PLUGIN_TWO_UNITS_H_

#include <string>

#include "test/protos/plugin/golden.pbzero.h"

// The addresses of definitions in a generated header, as one translation unit
// sees them.
struct Definitions {
  const void* metadata;
  const void* enum_limit;
  const void* nested_constant;
  const char* (*name_function)(::golden::main::pbzero::TopLevel);
  const char* (*get_name)();
  void (::golden::main::pbzero::Everything::*setter)(int32_t);
};

// Returns the addresses that two_units_other.cc sees.
Definitions OtherDefinitions();
std::string WriteInOtherUnit();
void AppendInOtherUnit(::golden::main::pbzero::Everything* message);

#endif  // TEST_PLUGIN_TWO_UNITS_H_
