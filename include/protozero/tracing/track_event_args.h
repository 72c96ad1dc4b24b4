// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_ARGS_H_
#define INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_ARGS_H_

#include <stdint.h>

#include <string_view>

#include "protozero/tracing/internal/track_event_ids.h"

#include "protozero/internal/macros.h"

// The arguments of an event of "protozero/tracing/track_event.h" besides its
// category, its name, and named values.

namespace protozero {
PROTOZERO_ABI_BEGIN

// A name, or a value's key, that is made while the program runs. It is written
// with each event. The text is not copied before that.
struct DynamicString {
  constexpr explicit DynamicString(std::string_view string) : text(string) {}
  std::string_view text;
};

// A category that is known only while the program runs. Each event compares it
// with the rules of each session.
struct DynamicCategory {
  constexpr explicit DynamicCategory(std::string_view string) : text(string) {}
  std::string_view text;
};

// A row of the timeline. Events without a track are on their thread's track.
//
//   static constexpr protozero::Track kQueue("queue");
//   PROTOZERO_TRACE_EVENT_BEGIN("app", "item", protozero::Track(item_id));
//
// A track is known by name, id and parent: two objects with the same ones are
// one track, in all threads. A literal type, which may be static. REQUIRES:
// texts and parents that it was given outlive it.
class Track {
 public:
  // The owner of a track that has no other parent.
  enum Owner : uint8_t { kProcess, kThread, kNobody };
  // The order in which viewers show the tracks whose parent this is.
  enum class ChildOrder : uint8_t {
    kUnspecified = 0,
    kLexicographic = 1,
    kChronological = 2,
    // By the children's set_rank().
    kExplicit = 3,
  };

  // Return the row of the calling thread, or of the process.
  static constexpr Track Thread() { return Track(Kind::kThread); }
  static constexpr Track Process() { return Track(Kind::kProcess); }

  // Makes a track for slices that overlap, such as asynchronous operations:
  // |id| tells the operations apart. Viewers show the name of its first event.
  // With kNobody, it is the same track in all processes.
  constexpr explicit Track(uint64_t id, Owner owner = kProcess)
      : hash_(internal::HashTrack(id, {})), owner_(owner) {}
  constexpr Track(uint64_t id, const Track& parent)
      : hash_(internal::HashTrack(id, {})), parent_(&parent) {}
  Track(uint64_t id, const Track&& parent) = delete;

  // Makes a track of that name. |id| tells apart tracks of the same name.
  constexpr explicit Track(std::string_view name,
                           uint64_t id = 0,
                           Owner owner = kProcess)
      : name_(name), hash_(internal::HashTrack(id, name)), owner_(owner) {}
  constexpr Track(std::string_view name, uint64_t id, const Track& parent)
      : name_(name), hash_(internal::HashTrack(id, name)), parent_(&parent) {}
  // Deleted, because the parent would be gone before the track is.
  Track(std::string_view name, uint64_t id, const Track&& parent) = delete;

  // Sets a text for viewers. All descriptions of a track in a trace have to
  // agree.
  constexpr Track& set_description(std::string_view description) {
    description_ = description;
    return *this;
  }
  // Sets the order in which viewers show the tracks below this one.
  constexpr Track& set_child_order(ChildOrder order) {
    child_order_ = order;
    return *this;
  }
  // Sets the place among its siblings, for a parent whose order is kExplicit.
  constexpr Track& set_rank(int32_t rank) {
    rank_ = rank;
    return *this;
  }

  // Returns its number in the trace, for this process and thread.
  uint64_t uuid() const;

 protected:
  enum class Kind : uint8_t { kThread, kProcess, kOther, kCounter };
  constexpr explicit Track(Kind kind) : kind_(kind) {}

  std::string_view name_;
  std::string_view description_;
  std::string_view unit_name_;
  uint64_t hash_ = 0;
  int64_t unit_multiplier_ = 0;
  const Track* parent_ = nullptr;
  int32_t rank_ = 0;
  Kind kind_ = Kind::kOther;
  Owner owner_ = kProcess;
  ChildOrder child_order_ = ChildOrder::kUnspecified;
  uint8_t unit_ = 0;

 private:
  friend class internal::TrackAccess;
};

// A row that shows values of PROTOZERO_TRACE_COUNTER().
class CounterTrack : public Track {
 public:
  // The kind of the values.
  enum class Unit : uint8_t { kNone = 0, kTimeNs = 1, kCount = 2, kBytes = 3 };

  // Makes a counter of the process, or below |parent|.
  constexpr explicit CounterTrack(std::string_view name, Owner owner = kProcess)
      : Track(name, internal::kCounterId, owner) {
    kind_ = Kind::kCounter;
  }
  constexpr CounterTrack(std::string_view name, const Track& parent)
      : Track(name, internal::kCounterId, parent) {
    kind_ = Kind::kCounter;
  }
  CounterTrack(std::string_view name, const Track&& parent) = delete;

  // Sets the label of the values in viewers.
  constexpr CounterTrack& set_unit(Unit unit) {
    unit_ = static_cast<uint8_t>(unit);
    return *this;
  }
  // Sets a label that is shown if there is no Unit.
  constexpr CounterTrack& set_unit_name(std::string_view name) {
    unit_name_ = name;
    return *this;
  }
  // Sets the factor by which viewers multiply each value.
  constexpr CounterTrack& set_unit_multiplier(int64_t multiplier) {
    unit_multiplier_ = multiplier;
    return *this;
  }
};

// A flow. Viewers join its events by arrows, in order of time. The constructor
// takes a number that is unique in this process.
class Flow {
 public:
  // Makes a flow from a number, or from an object's address.
  explicit Flow(uint64_t id) : id_(id ^ internal::ProcessUuid()) {}
  static Flow FromPointer(const void* pointer) {
    return Flow(reinterpret_cast<uintptr_t>(pointer));
  }
  // Makes a flow between processes. |id| is unique in the whole trace.
  static Flow Global(uint64_t id) { return Flow(id ^ internal::ProcessUuid()); }

  // Returns its number in the trace.
  uint64_t id() const { return id_; }

 private:
  uint64_t id_;
};

// The last event of a flow.
class TerminatingFlow : public Flow {
 public:
  // Ends the flow with that number in this process.
  explicit TerminatingFlow(uint64_t id) : Flow(id) {}
  // Ends any flow: TerminatingFlow(Flow::Global(7)).
  explicit TerminatingFlow(const Flow& flow) : Flow(flow) {}
};

// A mark of slices that belong together, without arrows.
struct CorrelationId {
  explicit CorrelationId(uint64_t value) : number(value) {}
  explicit CorrelationId(std::string_view value) : text(value), is_text(true) {}
  uint64_t number = 0;
  std::string_view text;
  bool is_text = false;
};

// The place of the event in the program's source:
//
//   PROTOZERO_TRACE_EVENT("app", "load", protozero::SourceLocation::Here());
struct SourceLocation {
  static constexpr SourceLocation Here(
      const char* file = __builtin_FILE(),
      const char* function = __builtin_FUNCTION(),
      int line = __builtin_LINE()) {
    return {file, function, static_cast<uint32_t>(line)};
  }
  const char* file;
  const char* function;
  uint32_t line;
};

// The time of the event, in nanoseconds of TraceTimeNs(), if not now.
struct Timestamp {
  explicit Timestamp(uint64_t value) : ns(value) {}
  uint64_t ns;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACK_EVENT_ARGS_H_
