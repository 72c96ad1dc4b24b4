// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/compiler/plugin.h>

#include "src/protoc_plugin/generator.h"

int main(int argc, char** argv) {
  const protozero::plugin::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
