// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_LANGUAGES_H_
#define SRC_PROTOC_PLUGIN_LANGUAGES_H_

#include <vector>

#include "src/protoc_plugin/c/generate_c.h"
#include "src/protoc_plugin/cpp/generate_cpp.h"
#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

// Returns the languages of the plugin, a line for each. The first is the
// default.
inline std::vector<Language> Languages() {
  return {
      {"cpp", GenerateCpp},
      {"c", GenerateC},
  };
}

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_LANGUAGES_H_
