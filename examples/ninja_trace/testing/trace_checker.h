// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_TESTING_TRACE_CHECKER_H_
#define EXAMPLES_NINJA_TRACE_TESTING_TRACE_CHECKER_H_

#include <stdint.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "include/protozero/tracing/trace.pb.h"

namespace ninja_trace {

// A slice in the form that a viewer shows.
struct Slice {
  std::string track;
  std::string name;
  std::string category;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t command_hash = 0;
  int64_t mtime = 0;
  std::vector<std::string> outputs;
};

// Reads a trace with libprotobuf, like a viewer, and is stricter: it reports
// each problem that a viewer would silently leave out.
//
//   every packet    is on a sequence, whose first packet says that it is
//   every id        of an interned string was defined before
//   every track     has a descriptor, and its parent too, before it is used
//   every event     has a timestamp, not before that of the event before
//   every end       belongs to a beginning on the same track, and vice versa
//   every field     is one of the schema
class TraceChecker {
 public:
  // Reads |bytes|, a serialized perfetto.protos.Trace.
  explicit TraceChecker(const std::string& bytes);

  // Returns the problems, in words. Empty if the trace is all right.
  const std::vector<std::string>& problems() const { return problems_; }

  // Returns all slices in the order of their beginnings.
  const std::vector<Slice>& slices() const { return slices_; }
  // Returns the slices of build steps; the others stand for whole builds.
  std::vector<Slice> steps() const;

  // Returns the names of the tracks below the process, in the order of a
  // viewer.
  std::vector<std::string> track_names() const;
  const std::string& process_name() const { return process_name_; }
  size_t packet_count() const { return packet_count_; }

 private:
  using Packet = perfetto::protos::TracePacket;

  void Problem(const std::string& what);
  void CheckSequence(const Packet& packet);
  void ReadStrings(const perfetto::protos::InternedData& strings);
  void ReadTrack(const perfetto::protos::TrackDescriptor& track);
  void ReadEvent(const Packet& packet);
  void ReadAnnotations(const perfetto::protos::TrackEvent& event, Slice* slice);
  // Returns the string, or "" and adds a problem.
  std::string Find(const std::map<uint64_t, std::string>& strings, uint64_t id);

  size_t packet_count_ = 0;
  std::vector<std::string> problems_;
  std::vector<Slice> slices_;
  std::string process_name_;

  uint32_t sequence_ = 0;
  uint64_t last_time_ = 0;
  std::map<uint64_t, std::string> categories_;
  std::map<uint64_t, std::string> annotation_names_;
  std::map<uint64_t, std::string> tracks_;
  std::vector<std::pair<int32_t, std::string>> ranked_tracks_;
  // The indices of the slices of each track that have not ended.
  std::map<uint64_t, std::vector<size_t>> open_slices_;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_TESTING_TRACE_CHECKER_H_
