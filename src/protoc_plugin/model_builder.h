// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_
#define SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_

#include <vector>

#include <google/protobuf/descriptor.h>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Returns the model of `files` and of everything that they import. This is the
// only reader of descriptors. Without `comments`, all comments are empty.
Schema BuildSchema(
    const std::vector<const google::protobuf::FileDescriptor*>& files,
    bool comments);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_MODEL_BUILDER_H_
