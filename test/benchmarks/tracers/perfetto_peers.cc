// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/tracers/tracer.h"

const Tracer* const kPeers[] = {
#if defined(WITH_PERFETTO_C_SDK)
    &PerfettoCTracer(),
#else
    &PerfettoTracer(),
#endif
    nullptr};
