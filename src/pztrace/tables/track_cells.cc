// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/track_cells.h"

#include "src/program/value_sink.h"

namespace pztrace {

std::string_view TrackNameOf(const TrackInfo& info,
                             const EventText* first_event) {
  if (!info.own_name.empty() || info.is_thread || info.pid != 0 ||
      info.is_counter || first_event == nullptr) {
    return info.own_name;
  }
  return first_event->name;
}

std::string TrackTypeOf(const TrackInfo& info,
                        bool has_thread,
                        bool has_process) {
  std::string type = has_thread    ? "thread_"
                     : has_process ? "process_"
                                   : "global_";
  type += info.is_counter ? "counter_" : info.is_state ? "state_" : "";
  return type + "track_event";
}

std::optional<int64_t> WriteTrackArgs(int64_t track_id,
                                      const TrackInfo& info,
                                      bool reads_args,
                                      ArgRows* args) {
  if (info.description.empty() && info.child_ordering.empty() &&
      !info.has_order) {
    return std::nullopt;
  }
  const int64_t set = -1 - track_id;
  if (!reads_args)
    return set;
  args->BeginSet(set, info.description.size());
  const auto add = [args](const char* name, const program::Value& value) {
    args->Name(name, program::ValueSink::NameKind::kField);
    args->Add(value);
  };
  if (!info.description.empty())
    add("description", std::string_view(info.description));
  if (!info.child_ordering.empty())
    add("child_ordering", info.child_ordering);
  if (info.has_order)
    add("sibling_order_rank", int64_t{info.order});
  args->FinishSet();
  return set;
}

}  // namespace pztrace
