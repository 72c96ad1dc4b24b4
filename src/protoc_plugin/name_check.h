// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_NAME_CHECK_H_
#define SRC_PROTOC_PLUGIN_NAME_CHECK_H_

#include <vector>

#include "src/protoc_plugin/language.h"
#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Returns a diagnostic for each name that no language accepts as an identifier,
// and for each path that cannot stand in an #include. protoc's parser refuses
// such names, but libprotobuf accepts names that begin with a digit, and
// descriptors may come from elsewhere.
std::vector<Diagnostic> CheckNames(const Schema& schema);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_NAME_CHECK_H_
