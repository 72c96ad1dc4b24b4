// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMPARE_RUN_SUMS_H_
#define SRC_PZTRACE_COMPARE_RUN_SUMS_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "src/pztrace/compare/slice_sums.h"
#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

// The slices of one run, added up by path. Those of folded paths are added up
// by name, too, because their path does not say it. Its memory depends on the
// number of names, and on |max_paths|, which is that of the reader.
class RunSums {
 public:
  // The slices of folded paths that have one name.
  struct FoldedName {
    const EventText* text = nullptr;
    SliceSums sums;
  };

  explicit RunSums(uint32_t max_paths) : max_paths_(max_paths) {}

  void Add(const Slice& slice) {
    SliceSums& sums = At(slice.path_id, &paths_);
    if (slice.path_id <= max_paths_)
      return sums.Add(slice);
    sums.AddTimes(slice);
    FoldedName& name = At(slice.text_id, &folded_names_);
    name.text = slice.text;
    name.sums.Add(slice);
  }

  // Adds how the thread of a slice that was added has spent its time.
  void AddDivision(const Slice& slice, const TimeDivision& times) {
    At(slice.path_id, &paths_).AddDivision(times);
    if (slice.path_id > max_paths_)
      At(slice.text_id, &folded_names_).sums.AddDivision(times);
  }

  // Notes that there is a slice of this path, which has not ended.
  void AddUnfinished(const Slice& slice) {
    if (slice.path_id <= max_paths_)
      At(slice.path_id, &paths_);
  }

  // Returns the sums by the number of the path. Those of folded paths have no
  // histogram.
  const std::vector<SliceSums>& paths() const { return paths_; }
  // Returns the sums by the number of the text. A text without such slices has
  // a count of 0.
  const std::vector<FoldedName>& folded_names() const { return folded_names_; }

 private:
  template <typename Sums>
  static Sums& At(uint32_t index, std::vector<Sums>* sums) {
    if (index >= sums->size())
      sums->resize(index + size_t{1});
    return (*sums)[index];
  }

  const uint32_t max_paths_;
  std::vector<SliceSums> paths_;
  std::vector<FoldedName> folded_names_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMPARE_RUN_SUMS_H_
