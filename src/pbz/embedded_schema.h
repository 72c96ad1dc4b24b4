// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_EMBEDDED_SCHEMA_H_
#define SRC_PBZ_EMBEDDED_SCHEMA_H_

#include "protozero/const_bytes.h"

namespace pbz {

// A descriptor set with the type of a trace file, perfetto.protos.Trace.
// embed_schema.py makes it. It is empty if the build had no protoc for that.
extern const protozero::ConstBytes kTraceSchema;

}  // namespace pbz

#endif  // SRC_PBZ_EMBEDDED_SCHEMA_H_
