// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SLICE_READER_H_
#define SRC_PZTRACE_SLICE_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace.h"

namespace pztrace {

struct Slice {
  // Counts from 0, one for each pair of a category and a name. These stay where
  // they are as long as the reader.
  uint32_t text_id;
  std::string_view category;  // Several have commas between them.
  std::string_view name;
  uint64_t duration_ns;
  // Without the slices within it, of the same track.
  uint64_t self_ns;
};

// Finds the slices of a trace, packet by packet. Bytes may be anything: what is
// malformed is not there.
//
// The events of a thread's own track come from one sequence, and in order; they
// take memory for the open slices only. Those of another track may come from
// several sequences, which follow each other in the file in any order, so they
// are kept until Finish() has sorted them by time.
class SliceReader {
 public:
  using Callback = std::function<void(const Slice&)>;

  // |callback| gets each slice, in any order.
  explicit SliceReader(Callback callback) : callback_(std::move(callback)) {}

  // |packets| are fields of a Trace. Returns false if they are not whole.
  bool Read(protozero::ConstBytes packets);
  // After the last packet.
  void Finish();

  // Slices without an end. A loss ends all slices that are open on the thread.
  uint64_t unfinished() const { return unfinished_; }
  // Ends without a beginning.
  uint64_t unbegun() const { return unbegun_; }
  // Packets that refer to others that are lost.
  uint64_t skipped() const { return skipped_; }

 private:
  using TrackEvent = protozero::trace::TrackEvent;
  using TracePacket = protozero::trace::TracePacket;

  using TextId = uint32_t;

  struct OpenSlice {
    uint64_t begin_ns;
    uint64_t nested_ns;
    TextId text;
  };
  using Stack = std::vector<OpenSlice>;

  struct Clock {
    uint64_t ticks = 0;
    uint64_t ns_per_tick = 1;
    bool is_incremental = false;
  };

  // What a sequence has told the reader since it began anew.
  struct Sequence {
    bool is_valid = false;
    std::map<uint64_t, std::string> categories;
    std::map<uint64_t, std::string> names;
    std::map<uint32_t, Clock> clocks;
    uint32_t clock_id = 0;
    uint64_t track = 0;
    Stack stack;  // Of that track.
  };

  struct Event {
    uint64_t time_ns;
    bool is_begin;
    TextId text;
  };

  void OnPacket(protozero::ConstBytes bytes);
  void OnInterned(protozero::ConstBytes bytes, Sequence* sequence);
  void OnClocks(protozero::ConstBytes bytes, Sequence* sequence);
  void OnEvent(protozero::ConstBytes bytes,
               uint64_t time_ns,
               Sequence* sequence);
  static uint64_t TimeNs(const TracePacket::Decoder& packet,
                         Sequence* sequence);
  TextId TextOf(const TrackEvent::Decoder& event, const Sequence& sequence);
  void Begin(uint64_t time_ns, TextId text, Stack* stack);
  void End(uint64_t time_ns, Stack* stack);
  void Drop(Stack* stack);

  const Callback callback_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::unordered_map<uint64_t, std::vector<Event>> tracks_;
  std::map<std::pair<std::string, std::string>, TextId> text_ids_;
  std::vector<const std::pair<std::string, std::string>*> texts_;
  uint64_t unfinished_ = 0;
  uint64_t unbegun_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SLICE_READER_H_
