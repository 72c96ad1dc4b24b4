// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_LISTING_LANGUAGE_H_
#define TEST_PLUGIN_LISTING_LANGUAGE_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/language.h"

namespace protozero::plugin {

// A second output language, for tests: it lists what a schema declares, a line
// for each field. Its words are in capitals, so it has names, literals,
// reserved words, an option and errors of its own. Its target depends on the
// model and on nothing else of the plugin.
bool GenerateListing(const Schema& schema,
                     const std::vector<Option>& options,
                     std::vector<OutputFile>* output,
                     std::string* error);

}  // namespace protozero::plugin

#endif  // TEST_PLUGIN_LISTING_LANGUAGE_H_
