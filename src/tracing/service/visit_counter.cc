// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/visit_counter.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

namespace {

thread_local uint64_t t_num_visits = 0;

}  // namespace

void CountVisit() {
  ++t_num_visits;
}

uint64_t NumVisits() {
  return t_num_visits;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
