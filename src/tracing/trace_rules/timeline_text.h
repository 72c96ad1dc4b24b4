// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_RULES_TIMELINE_TEXT_H_
#define SRC_TRACING_TRACE_RULES_TIMELINE_TEXT_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_rules/event_list.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Writes parts of a timeline as lines of text.
class TimelineText {
 public:
  // The most lines for one slice, and for one list.
  static constexpr size_t kMaxLines = 20;

  TimelineText(const TraceReader& reader, const EventList& list)
      : reader_(reader), list_(list), events_(list.events()) {}

  // Appends a line with the name of the event's track.
  void AppendTrack(const ListedEvent& event, std::string* text) const;
  // Appends the event at |index| and those inside it. Marks events of the texts
  // |is_marked|; if there are too many events, the others are left out.
  void AppendInside(size_t index,
                    const std::vector<bool>& is_marked,
                    std::string* text) const;
  // Appends the events at |indices| and their tracks.
  void AppendList(const std::vector<size_t>& indices, std::string* text) const;

  // Returns a time since the first event of the trace.
  std::string TimeText(uint64_t time_ns) const;
  static std::string DurationText(uint64_t ns);

 private:
  // Appends events, each further right than those that contain it. |indices|
  // are sorted.
  void AppendInOrder(const std::vector<size_t>& indices,
                     const std::vector<bool>& is_marked,
                     std::string* text) const;
  void AppendEvent(const ListedEvent& event,
                   size_t depth,
                   bool is_marked,
                   std::string* text) const;

  const TraceReader& reader_;
  const EventList& list_;
  const std::vector<ListedEvent>& events_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_RULES_TIMELINE_TEXT_H_
