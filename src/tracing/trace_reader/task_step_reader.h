// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_TASK_STEP_READER_H_
#define SRC_TRACING_TRACE_READER_TASK_STEP_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_reader.h"
#include "src/tracing/trace_reader/event_order.h"
#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

class SequenceState;
class TaskSequence;

// Makes steps of tasks of the events of sequences whose default track is a row
// "tasks" below a thread's track, and gives them to the user in the order of
// the time of each thread. Tells the user about a loss if packets of the
// sequence are missing, if a step refers to an unknown task, and between the
// steps of two sequences of one thread. A thread may have several if a file has
// several sessions, or if a later thread has the same number.
class TaskStepReader final : private EventSink {
 public:
  TaskStepReader(const TraceReader::Callbacks* callbacks, TrackTable* tracks)
      : callbacks_(*callbacks), tracks_(*tracks) {}

  // Reads the InternedData of a sequence.
  void AddInterned(ConstBytes interned_data, SequenceState* sequence);
  // Reads a TrackEvent, which need not be a step.
  void Read(ConstBytes event, uint64_t time_ns, SequenceState* sequence);
  // Does what TraceReader::ReleaseEvents() does.
  void Release() { order_.Release(); }
  // Ends a sequence at the end of the trace, and then all of them.
  void FinishSequence(uint64_t end_ns, SequenceState* sequence);
  void Finish() { order_.Finish(); }

 private:
  struct Fields;
  // A step that waits for its place in the order of time.
  struct Step {
    TaskStep::Kind kind = TaskStep::Kind::kSwitch;
    TaskStep::Stop stop = TaskStep::Stop::kReady;
    bool has_parent = false;
    uint32_t result = 0;
    uint32_t source = 0;
    uint32_t spawned_at = IdMap::kNone;  // Indexes of places_.
    uint32_t waits_at = IdMap::kNone;
    uint32_t text = IdMap::kNone;  // An index of texts_.
    uint64_t task = 0;
    uint64_t parent = 0;
  };
  struct Thread {
    uint64_t uuid;
    // The process, as |version| of the tracks says.
    uint64_t process = 0;
    uint64_t version = UINT64_MAX;
    // The source and the time of the thread's last step. |source| is 0 before
    // the first step, and after a step that came too late.
    uint32_t source = 0;
    uint64_t last_ns = 0;
    bool has_begun = false;
    bool is_behind_loss = false;  // The last step is a kLoss.
  };

  static Fields ReadFields(ConstBytes event);
  // Looks for the thread whose tasks are on the sequence's own track. Returns
  // null if there is none.
  TaskSequence* FindThread(SequenceState* sequence);
  // Make a step of an event. Return false if it is none.
  bool ReadSwitch(const Fields& fields,
                  const TaskSequence& sequence,
                  Step* step) const;
  bool ReadOther(const Fields& fields,
                 const TaskSequence& sequence,
                 Step* step);
  uint32_t InternPlace(ConstBytes task_site);
  uint32_t KeepText(std::string_view text);
  void Add(const Step& step, uint64_t time_ns, const TaskSequence& sequence);
  void AddLoss(uint64_t time_ns, const TaskSequence& sequence);
  const TaskPlace* PlaceAt(uint32_t index) const {
    return index != IdMap::kNone ? &places_[index] : nullptr;
  }
  void OnEvent(const TimedEvent& event) override;
  void Give(const Step& step, uint64_t time_ns, Thread* thread);
  void GiveLoss(uint64_t time_ns, Thread* thread);

  // The most places of a trace. Others are unknown.
  static constexpr size_t kMaxPlaces = size_t{1} << 16;
  // The most bytes of texts that may wait for their place in the order of time.
  static constexpr size_t kMaxTextBytes = size_t{16} << 20;

  const TraceReader::Callbacks& callbacks_;
  TrackTable& tracks_;
  uint32_t num_sources_ = 0;

  std::deque<TaskPlace> places_;  // They stay at their addresses.
  std::map<std::tuple<std::string_view, std::string_view, uint32_t>, uint32_t>
      place_indexes_;

  IdMap thread_indexes_;  // Indexes of threads_, by TrackIndex.
  std::vector<Thread> threads_;

  // The steps and texts that wait. Places are reused.
  EventOrder order_{TraceReader::kMaxLateness, this};
  std::vector<Step> steps_;
  std::vector<uint32_t> free_steps_;
  std::vector<std::string> texts_;
  std::vector<uint32_t> free_texts_;
  size_t num_text_bytes_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_TASK_STEP_READER_H_
