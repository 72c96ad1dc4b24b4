// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_LISTING_LANGUAGE_H_
#define TEST_PLUGIN_LISTING_LANGUAGE_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

// Writes a second output language, for tests: it lists the declarations of a
// schema, with a line for each field. Its words are in capitals, so it has its
// own names, literals, reserved words, option and errors. Its target depends
// only on the model of the plugin.
bool GenerateListing(const Schema& schema,
                     const std::vector<Option>& options,
                     std::vector<OutputFile>* output,
                     std::string* error);

}  // namespace protozero::plugin

#endif  // TEST_PLUGIN_LISTING_LANGUAGE_H_
