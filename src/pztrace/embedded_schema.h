// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EMBEDDED_SCHEMA_H_
#define SRC_PZTRACE_EMBEDDED_SCHEMA_H_

#include "protozero/const_bytes.h"

namespace pztrace {

// A descriptor set with the type of a trace file, perfetto.protos.Trace. Made
// by embed_schema.py.
extern const protozero::ConstBytes kTraceSchema;

}  // namespace pztrace

#endif  // SRC_PZTRACE_EMBEDDED_SCHEMA_H_
