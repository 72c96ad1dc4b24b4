// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_EMBEDDED_CONFIG_SCHEMA_H_
#define SRC_PZTRACE_RECORD_EMBEDDED_CONFIG_SCHEMA_H_

#include "protozero/const_bytes.h"

namespace pztrace {

// The descriptor set of record_config.proto.
extern const protozero::ConstBytes kConfigSchema;

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_EMBEDDED_CONFIG_SCHEMA_H_
