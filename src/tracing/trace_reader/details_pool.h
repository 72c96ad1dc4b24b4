// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_DETAILS_POOL_H_
#define SRC_TRACING_TRACE_READER_DETAILS_POOL_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>
#include <vector>

#include "protozero/tracing/trace_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A place in a DetailsPool.
using DetailsId = uint32_t;

// The details of events and of open slices. Most are empty and have no place.
// Places are reused, with their memory.
class DetailsPool {
 public:
  static constexpr DetailsId kNone = 0;

  DetailsPool() : places_(1) {}

  // Returns a place with |*details|, which it swaps with older ones.
  DetailsId Keep(EventDetails* details) {
    if (details->args.empty() && details->flows.empty())
      return kNone;
    DetailsId id = static_cast<DetailsId>(places_.size());
    if (free_.empty()) {
      places_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    std::swap(places_[id], *details);
    num_bytes_ += SizeOf(places_[id]);
    return id;
  }
  const EventDetails& Get(DetailsId id) const { return places_[id]; }

  // Appends |more| to |*to|, and frees |more|.
  void Merge(DetailsId more, DetailsId* to) {
    if (more == kNone)
      return;
    if (*to == kNone) {
      *to = more;
      return;
    }
    EventDetails& all = places_[*to];
    const size_t before = SizeOf(all);
    const EventDetails& added = places_[more];
    all.args += added.args;
    all.flows.insert(all.flows.end(), added.flows.begin(), added.flows.end());
    num_bytes_ += SizeOf(all) - before;
    Free(more);
  }

  void Free(DetailsId id) {
    if (id == kNone)
      return;
    EventDetails& details = places_[id];
    num_bytes_ -= SizeOf(details);
    // Long lists are few. Their memory is not worth keeping.
    if (details.args.capacity() > kMaxKeptSize)
      std::string().swap(details.args);
    if (details.flows.capacity() > kMaxKeptSize / sizeof(EventFlow))
      std::vector<EventFlow>().swap(details.flows);
    details.args.clear();
    details.flows.clear();
    free_.push_back(id);
  }

  // Returns the bytes of all details that are kept.
  size_t num_bytes() const { return num_bytes_; }

 private:
  static constexpr size_t kMaxKeptSize = 256;

  static size_t SizeOf(const EventDetails& details) {
    return details.args.size() + details.flows.size() * sizeof(EventFlow);
  }

  std::deque<EventDetails> places_;
  std::vector<DetailsId> free_;
  size_t num_bytes_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_DETAILS_POOL_H_
