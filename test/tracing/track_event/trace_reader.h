// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_TRACK_EVENT_TRACE_READER_H_
#define TEST_TRACING_TRACK_EVENT_TRACE_READER_H_

#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/tracing/track_event.h"

// Reads a trace like a viewer: with the interned data, the clock and the
// defaults of each sequence.

struct ReadEvent {
  uint32_t sequence = 0;
  uint64_t time = 0;
  int type = 0;
  std::vector<std::string> categories;
  std::string name;
  uint64_t track = 0;
  // The arguments as "key=value", nested ones as "key={a=1,b=[1,2]}".
  std::vector<std::string> args;
  std::vector<uint64_t> flows;
  std::vector<uint64_t> terminating_flows;
  std::string correlation;
  std::string location;
  // The value of a counter.
  std::string value;
  // All bytes of the event.
  std::string bytes;
};

struct ReadTrack {
  uint64_t parent = 0;
  std::string name;
  std::string description;
  bool is_counter = false;
  int unit = 0;
  std::string unit_name;
  int pid = 0;
  int64_t tid = 0;
  std::string process_name;
  std::string thread_name;
};

struct ReadTrace {
  std::vector<ReadEvent> events;
  std::map<uint64_t, ReadTrack> tracks;
  // The parts that a viewer would not understand.
  std::vector<std::string> errors;
  int num_clears = 0;
  // The number of packets of sequences that had lost data that they refer to.
  int num_skipped = 0;

  std::vector<ReadEvent> Named(std::string_view name) const {
    std::vector<ReadEvent> found;
    for (const ReadEvent& event : events) {
      if (event.name == name)
        found.push_back(event);
    }
    return found;
  }
};

ReadTrace Read(const std::string& trace);

#endif  // TEST_TRACING_TRACK_EVENT_TRACE_READER_H_
