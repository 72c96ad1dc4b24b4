// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/front_end.h"

int main(int argc, char** argv) {
  return protozero::plugin::RunPlugin(argc, argv);
}
