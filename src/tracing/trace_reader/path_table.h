// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_PATH_TABLE_H_
#define SRC_TRACING_TRACE_READER_PATH_TABLE_H_

#include <stdint.h>

#include <vector>

#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The number of a path; 0 is the path without any text.
using PathId = uint32_t;

// The different paths of slices, each as a text after another path. The first
// |max_paths| of them have numbers of their own. Later ones are folded: those
// within the same path share a number. So there are at most twice as many
// numbers, and each path with a number of its own has it from its first slice
// on.
class PathTable {
 public:
  // The text of a folded path.
  static constexpr TextId kFolded = UINT32_MAX - 1;

  explicit PathTable(uint32_t max_paths) : max_paths_(max_paths) {
    Add({0, UINT32_MAX});
  }

  // Returns the number of the path that adds |text| to |outer|.
  PathId PathOf(PathId outer, TextId text) {
    const PathId found = Find({outer, text});
    if (found != IdMap::kNone)
      return found;
    return paths_.size() <= max_paths_ ? Add({outer, text}) : FoldedIn(outer);
  }

  PathId outer(PathId id) const { return paths_[id].outer; }
  // REQUIRES: |id| is not 0.
  TextId text(PathId id) const { return paths_[id].text; }

 private:
  struct Path {
    PathId outer;
    TextId text;
  };
  static uint64_t KeyOf(const Path& path) {
    return uint64_t{path.outer} << 32 | path.text;
  }
  struct Keys {
    uint64_t operator()(uint32_t id) const { return KeyOf(paths[id]); }

    const std::vector<Path>& paths;
  };

  PathId Find(const Path& path) const {
    return index_.Find(KeyOf(path), Keys{paths_});
  }
  // Returns the number of the folded paths within |outer|.
  PathId FoldedIn(PathId outer) {
    if (paths_[outer].text == kFolded)
      return outer;
    const PathId found = Find({outer, kFolded});
    return found != IdMap::kNone ? found : Add({outer, kFolded});
  }
  PathId Add(const Path& path) {
    paths_.push_back(path);
    index_.Add(Keys{paths_});
    return static_cast<PathId>(paths_.size() - 1);
  }

  const uint32_t max_paths_;
  std::vector<Path> paths_;
  IndexTable index_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_PATH_TABLE_H_
