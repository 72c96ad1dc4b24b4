// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_HEADER_WRITER_H_
#define SRC_PROTOC_PLUGIN_C_HEADER_WRITER_H_

#include <string>

#include "src/protoc_plugin/c/c_names.h"
#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// foo/bar.proto -> foo/bar.pbzero_c.h
std::string CHeaderPath(const std::string& proto_path);

// Returns the text of that header.
std::string WriteCHeader(const CNames& names, const File& file);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_HEADER_WRITER_H_
