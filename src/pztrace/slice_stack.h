// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SLICE_STACK_H_
#define SRC_PZTRACE_SLICE_STACK_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pztrace {

// A category and a name.
struct EventText {
  std::string category;  // Several have commas between them.
  std::string name;
};

// What else an event says, as parts of JSON.
struct EventDetails {
  std::string args;   // The members of an object: "a":1,"b":[2]
  std::string flows;  // The elements of an array: numbers.
};

// A slice without its end.
struct OpenSlice {
  uint64_t begin_ns = 0;
  uint64_t track = 0;
  const EventText* text = nullptr;
  uint32_t text_id = 0;
  EventDetails details;

  // The stack's own.
  uint32_t depth = 0;
  uint64_t nested_ns = 0;
  // Until then, it is counted as nested in slices that have ended.
  uint64_t counted_ns = 0;
  // Said by another sequence, and later than what has been read. 0: none.
  uint64_t end_ns = 0;
};

// An end, and what it says of its slice. Without |duration| and |text|, that is
// the innermost one.
struct SliceEnd {
  uint64_t time_ns = 0;
  // TracePacket.ended_slice_duration
  std::optional<uint32_t> duration = {};
  const EventText* text = nullptr;
  EventDetails details = {};
};

// The open slices of one track. An end that says which slice it ends may end
// any of them: scopes of coroutines overlap.
class SliceStack {
 public:
  // Called when a slice has ended.
  using OnEnd = std::function<void(const OpenSlice& slice, uint64_t end_ns)>;

  // The bits of TracePacket.ended_slice_duration.
  static constexpr uint64_t kDurationMask = (uint64_t{1} << 30) - 1;

  size_t size() const { return slices_.size(); }
  void Begin(OpenSlice slice, const OnEnd& on_end);
  // Returns false if the slice is not there.
  bool End(const SliceEnd& end, const OnEnd& on_end);
  // The same for an end of another sequence: events of the track that have been
  // read may be later, or earlier ones be unread.
  bool EndFromElsewhere(const SliceEnd& end, const OnEnd& on_end);
  // Removes those without an end. Returns their number.
  size_t Clear(const OnEnd& on_end);

 private:
  // A slice, or the rest of one, that has ended within one that is open.
  struct Nested {
    uint64_t parent_begin_ns;
    uint64_t begin_ns;
    uint64_t end_ns;
  };

  // size() if it is not there.
  size_t Find(const SliceEnd& end) const;
  void EndAt(size_t index, uint64_t end_ns, const OnEnd& on_end);
  // Ends slices whose ends are known and not after |time_ns|.
  void GoTo(uint64_t time_ns, const OnEnd& on_end);
  void AddNested(const Nested& nested);
  void TakeBackNested(OpenSlice* slice, uint64_t end_ns, OpenSlice* parent);

  std::vector<OpenSlice> slices_;
  // The last ones, in a ring.
  std::vector<Nested> nested_;
  size_t num_nested_ = 0;
  size_t num_known_ends_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SLICE_STACK_H_
