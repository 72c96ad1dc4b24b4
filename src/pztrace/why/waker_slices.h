// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_WHY_WAKER_SLICES_H_
#define SRC_PZTRACE_WHY_WAKER_SLICES_H_

#include <stdint.h>

#include <map>
#include <string>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/why/thread_causes.h"

namespace pztrace {

// The innermost slices in which threads were at certain moments: those in which
// they woke others.
class WakerSlices {
 public:
  struct Place {
    const EventText* text = nullptr;  // Null if the thread is in no slice.
    uint32_t depth = 0;
    std::string args;  // Members of a JSON object.
  };

  // Adds the moments that |causes| ask for.
  void Want(const ThreadCauses& causes);
  // Adds a slice of a thread, in any order. |reader| outlives this.
  void Add(const Slice& slice, uint32_t thread, const TimelineReader& reader);
  // Returns the place of a moment; null if none is known.
  const Place* Find(const ThreadCauses::Waker& waker) const;

 private:
  // The moments of each thread.
  std::map<uint32_t, std::map<uint64_t, Place>> places_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_WHY_WAKER_SLICES_H_
