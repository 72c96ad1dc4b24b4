// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EDIT_TRACE_MERGER_H_
#define SRC_PZTRACE_EDIT_TRACE_MERGER_H_

#include <stdint.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/field_stream.h"
#include "src/pztrace/edit/packet_scanner.h"
#include "src/tracing/trace_reader/process_table.h"

namespace pztrace {

// Makes one trace of several of one host, in the order of time. Packets change
// by the number of their sequence only, and only if an earlier trace has that
// number. So what a sequence has interned stays valid.
//
//   TraceMerger merger;
//   merger.Add("a.pftrace", &stream_a);
//   merger.Add("b.pftrace", &stream_b);
//   if (merger.Survey())
//     while (merger.Next(&bytes))
//       Write(bytes);
//   Print(merger.error());
//
// Each trace is read twice. Memory depends on the number of their tracks,
// different texts and sequences, not on their length.
class TraceMerger {
 public:
  TraceMerger();
  ~TraceMerger();

  // Adds a trace. REQUIRES: |stream| can restart, and outlives this.
  void Add(std::string name, pbz::FieldStream* stream);

  // Reads the traces once, to find out whether they fit together. Returns false
  // if they do not, and error() is why.
  bool Survey();
  // Appends the next packet of the merged trace. Returns false at the end, and
  // after an error.
  bool Next(std::string* merged);

  // Returns why there is no more, or an empty text.
  const std::string& error() const { return error_; }
  // Returns the names of the traces that do not end with a whole packet.
  const std::set<std::string>& damaged() const { return damaged_; }

 private:
  class Input;
  // The process, the thread and the parent of a track.
  struct Described {
    protozero::internal::ProcessTable::Process process;
    int64_t tid = 0;
    uint64_t parent = 0;
    const Input* input;
  };

  bool SurveyInput(Input* input);
  bool CheckTrack(const ScannedPacket& packet, const Input& input);
  bool CheckClocks();
  // Returns whether the clocks may be those of one host. |earlier| begins
  // first.
  static bool AreOfOneHost(Input& earlier, Input& later);
  void NumberSequences();
  bool Fail(const std::string& name, const std::string& why);

  std::deque<Input> inputs_;
  std::unordered_map<uint64_t, Described> tracks_;  // By uuid.
  std::set<std::string> damaged_;
  std::string error_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EDIT_TRACE_MERGER_H_
