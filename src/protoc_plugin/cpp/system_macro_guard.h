// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACRO_GUARD_H_
#define SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACRO_GUARD_H_

#include <stddef.h>

#include <string>

namespace protozero::plugin {

// Sets macros of system headers aside at `begin`, and brings them back at the
// end, so that names in the code between have no other meaning.
void HideSystemMacros(size_t begin, std::string* text);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_SYSTEM_MACRO_GUARD_H_
