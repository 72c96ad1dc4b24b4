// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_VISIT_COUNTER_H_
#define SRC_TRACING_SERVICE_VISIT_COUNTER_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Counts a look at a producer, session, data source, instance, flush, page or
// request, of which there may be many, by this thread. TracingServiceCostTest
// compares the count with what a call may cost.
void CountVisit();
uint64_t NumVisits();

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_VISIT_COUNTER_H_
