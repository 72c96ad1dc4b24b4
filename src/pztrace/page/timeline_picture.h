// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_TIMELINE_PICTURE_H_
#define SRC_PZTRACE_PAGE_TIMELINE_PICTURE_H_

#include <stdint.h>

#include <limits>
#include <string>

#include "src/pztrace/events/track_rows.h"

namespace pztrace {

struct PictureOptions {
  static constexpr uint32_t kMinWidth = 400;
  static constexpr uint32_t kMaxWidth = 20000;

  uint32_t width = 1000;  // In pixels.
  // The shown range since the first event.
  uint64_t from_ns = 0;
  uint64_t to_ns = std::numeric_limits<uint64_t>::max();
};

// Draws the events of a trace as an SVG image: time goes to the right, and the
// tracks are below each other.
//
// Slices that are too narrow to be seen apart are drawn as one, so the size of
// the image depends on its width and the number of tracks, not on that of
// events. |tracks| belong to the reader that |rows| come from. REQUIRES:
// !rows->is_empty().
std::string DrawPicture(const Tracks& tracks,
                        const PictureOptions& options,
                        TrackRows* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_TIMELINE_PICTURE_H_
