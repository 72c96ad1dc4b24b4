// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

std::string ToText(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty())
      text += '\n';
    text +=
        diagnostic.proto_path + ":" + std::to_string(diagnostic.line) + ": ";
    if (!diagnostic.element.empty())
      text += diagnostic.element + ": ";
    text += diagnostic.reason;
  }
  return text;
}

}  // namespace protozero::plugin
