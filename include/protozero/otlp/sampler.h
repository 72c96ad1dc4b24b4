// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_SAMPLER_H_
#define INCLUDE_PROTOZERO_OTLP_SAMPLER_H_

#include <stdint.h>

#include "protozero/internal/byte_order.h"
#include "protozero/otlp/trace_context.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// Decides which spans are recorded, when they begin.
class Sampler {
 public:
  // Return samplers of all traces, and of none.
  static constexpr Sampler AlwaysOn() { return Sampler(kAll, false); }
  static constexpr Sampler AlwaysOff() { return Sampler(0, false); }
  // Samples this share of all traces, by their id: programs with the same share
  // agree. It compares the lower eight bytes of the id, as the Go and Java
  // SDKs do. A share that is not a number is 0.
  static constexpr Sampler Ratio(double share) {
    return Sampler(
        !(share > 0) ? 0
        : share >= 1 ? kAll
                     : static_cast<uint64_t>(share * static_cast<double>(kAll)),
        false);
  }
  // Does what the parent's flag says, and for a span without a parent what
  // |root| says.
  static constexpr Sampler ParentBased(Sampler root) {
    return Sampler(root.threshold_, true);
  }

  // True if a span of the trace is to be recorded. |parent| is null for a root.
  bool IsSampled(const TraceId& id, const SpanContext* parent) const {
    if (is_parent_based_ && parent != nullptr)
      return parent->IsSampled();
    // From a word, so that compilers keep the id in registers.
    const uint64_t word =
        PROTOZERO_RUNTIME::internal::LoadLittleEndian<uint64_t>(id.bytes + 8);
    uint64_t number = 0;
    for (int i = 0; i < 64; i += 8)
      number = number << 8 | (word >> i & 0xff);
    // Always, if that is kAll.
    return number >> 1 < threshold_;
  }

 private:
  static constexpr uint64_t kAll = uint64_t{1} << 63;
  constexpr Sampler(uint64_t threshold, bool is_parent_based)
      : threshold_(threshold), is_parent_based_(is_parent_based) {}

  uint64_t threshold_;
  bool is_parent_based_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_SAMPLER_H_
