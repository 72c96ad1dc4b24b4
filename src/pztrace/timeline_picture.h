// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TIMELINE_PICTURE_H_
#define SRC_PZTRACE_TIMELINE_PICTURE_H_

#include <stdint.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/pztrace/timeline_reader.h"

namespace pztrace {

// Draws the events of a trace as an SVG image: time goes to the right, and each
// track has a row, with the rows of a process together.
//
//   0 ms        10 ms       20 ms
//   app 4711
//     main      | Load          |
//                 | parse |
//     queue     __|--|___|------|
//
// Slices that are too narrow to be seen apart are drawn as one, so the size of
// the image depends on its width and the number of tracks, not on that of
// events. Its memory depends on that of events.
class TimelinePicture {
 public:
  struct Options {
    uint32_t width = 1000;  // In pixels; at least kMinWidth.
    // Since the first event.
    uint64_t from_ns = 0;
    uint64_t to_ns = std::numeric_limits<uint64_t>::max();
  };
  static constexpr uint32_t kMinWidth = 400;
  static constexpr uint32_t kMaxWidth = 20000;

  void Add(const Slice& slice);
  void Add(const Instant& instant);
  void Add(const CounterValue& value);

  bool is_empty() const { return rows_.empty(); }

  // |tracks| are those of the reader. The result has the time of the reader's
  // texts.
  std::string Draw(const std::map<uint64_t, TrackInfo>& tracks,
                   const Options& options) const;

 private:
  struct Row {
    std::vector<Slice> slices;
    std::vector<Instant> instants;
    std::vector<CounterValue> values;
  };
  class Drawing;

  void AddTime(uint64_t begin_ns, uint64_t end_ns);

  std::map<uint64_t, Row> rows_;  // By track.
  uint64_t first_ns_ = std::numeric_limits<uint64_t>::max();
  uint64_t last_ns_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TIMELINE_PICTURE_H_
