// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_FRONT_END_H_
#define SRC_PROTOC_PLUGIN_FRONT_END_H_

namespace protozero::plugin {

// Runs the plugin: prints the version, or answers the request of protoc that is
// on standard input.
int RunPlugin(int argc, char** argv);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_FRONT_END_H_
