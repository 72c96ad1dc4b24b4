// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_H_

#include "protozero/tracing/trace.pbzero.h"  // IWYU pragma: export

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The classes of trace.proto, which read and write traces:
//
//   HeapBuffered<trace::Trace> file;
//   trace::TracePacket* packet = file->add_packet();
//
// They are in a namespace of the library's ABI. Perfetto's SDK has classes of
// the same names, and can be in the same program.
namespace trace = ::perfetto::protos::PROTOZERO_ABI_NAMESPACE;

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_H_
