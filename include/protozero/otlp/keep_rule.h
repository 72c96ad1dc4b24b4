// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_KEEP_RULE_H_
#define INCLUDE_PROTOZERO_OTLP_KEEP_RULE_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// Keeps only the traces that matter, decided in this program when they end: the
// spans of a trace wait in memory until its local root ends, which is the span
// without a parent, or whose parent is in another program. Then all are
// exported, if one of the rules holds, or none of them is.
//
//   otlp::KeepRule rule;
//   rule.slower_than_ns = 250'000'000;
//   rule.errors = true;
//   rule.one_in = 1000;
//
// A span that ends after the root, on any thread, follows its decision; so does
// one that begins after it, as long as the decision is among the last thousands
// (one for each 4 KiB of the memory limit). The sampled flag that came from
// outside is obeyed: traces with 0 are not recorded at all, if the sampler is
// parent-based, as the default is, and those with 1 are kept.
struct KeepRule {
  // Keeps a trace whose root took longer; 0 for no such rule.
  uint64_t slower_than_ns = 0;
  // Keeps a trace in which a span has the status kError.
  bool errors = false;
  // Keeps a trace of which a span that has ended has this attribute. An empty
  // value stands for any. Values other than text never match another one.
  std::string attribute_key;
  std::string attribute_value;
  // Keeps one in so many traces, by chance; 0 for none.
  uint64_t one_in = 0;
  // Keeps a trace that another program has decided to keep, by its sampled
  // flag. Set it to false if that program samples all.
  bool sampled_from_outside = true;

  // The part of Pipeline's memory_limit for ended spans of undecided traces.
  // When they need more, the oldest trace makes room: it is kept if a rule
  // holds already, and counted otherwise. So it is when more traces are
  // undecided than one for each 4 KiB of the limit, and when the pipeline shuts
  // down.
  double memory_share = 0.5;

  // True if there is a rule; without one, all is kept.
  bool IsSet() const {
    return slower_than_ns != 0 || errors || !attribute_key.empty() ||
           one_in != 0;
  }
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_KEEP_RULE_H_
