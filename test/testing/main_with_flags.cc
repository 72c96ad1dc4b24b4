// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdio.h>
#include <stdlib.h>

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/flags.h"

namespace protozero::test {

namespace {

std::vector<std::string>& Arguments() {
  static auto* const arguments = new std::vector<std::string>;
  return *arguments;
}

}  // namespace

uint64_t Flag(std::string_view name, uint64_t default_value) {
  const std::string prefix = "--" + std::string(name) + "=";
  for (const std::string& argument : Arguments()) {
    if (argument.compare(0, prefix.size(), prefix) == 0)
      return strtoull(argument.c_str() + prefix.size(), nullptr, 0);
  }
  return default_value;
}

}  // namespace protozero::test

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);  // Removes its own flags.
  protozero::test::Arguments().assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
