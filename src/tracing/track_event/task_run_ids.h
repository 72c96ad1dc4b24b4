// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_TASK_RUN_IDS_H_
#define SRC_TRACING_TRACK_EVENT_TASK_RUN_IDS_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>
#include <type_traits>

#include "protozero/append_fields.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/track_event/task_numbers.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
// It is not hidden, because gcc warns if a class is less hidden than its base.
namespace internal {

// The ids by which a sequence of tasks refers to the tasks that its thread has
// run last. Each has a place that depends on its number.
class TaskRunIds {
 public:
  // The ids of names of steps. Those of tasks follow.
  static constexpr uint32_t kSpawn = 1;
  static constexpr uint32_t kWake = 2;
  static constexpr uint32_t kEnd = 3;
  static constexpr uint32_t kRequest = 4;

  // Returns the id of a task; 0 if it has none.
  uint32_t Find(uint64_t task) const {
    const Run& run = runs_[task % kNumRuns];
    return run.task == task ? run.iid : 0;
  }
  // Returns the id that Add() gives next.
  uint32_t next_iid() const { return last_iid_ + 1; }
  // Gives an id to a task, which the task that was at its place loses.
  uint32_t Add(uint64_t task) {
    runs_[task % kNumRuns] = {task, ++last_iid_};
    return last_iid_;
  }

 private:
  static constexpr size_t kNumRuns = 64;
  struct Run {
    uint64_t task;
    uint32_t iid;
  };
  Run runs_[kNumRuns] = {};
  uint32_t last_iid_ = kRequest;
};

// The field of a packet that gives an id to a task. It is what FieldLists would
// write. But they assume that each number has ten bytes, and then there is no
// room for a name in a packet whose size takes one byte.
struct NewRun {
  TaskRunIds* ids;
  uint64_t task;
  std::string_view name;
};

template <>
struct Appendable<NewRun> : std::true_type {
  using message_type = trace::TracePacket;
  static constexpr NewRun Pass(const NewRun& run) { return run; }
};

// Writes InternedData with the name that viewers show, and the task:
//
//   62 size | 12 size 08 iid 12 size name | tag size 08 iid 10 task 18 site_iid
template <>
struct ConstantEncoder<NewRun> {
  using Data = trace::InternedData;
  using Name = trace::EventName;
  using Run = trace::TaskRun;

  // The largest sizes of numbers of 32, 52 and 12 bits.
  static constexpr size_t kIidSize = 1 + 5;
  static constexpr size_t kTaskSize = 1 + 8;
  static constexpr size_t kSiteSize = 1 + 2;
  static constexpr size_t kSizes = 2 + 2 + 2 + 4;
  static constexpr size_t kHeader =
      kSizes + kIidSize + kIidSize + kTaskSize + kSiteSize;
  static constexpr size_t kMinHeader = kSizes + 4 * 2;
  static constexpr size_t kAhead = kHeader;

  static uint64_t BodySize(const NewRun& run) { return run.name.size(); }
  static uint64_t SizeBits(const NewRun& run) { return run.name.size(); }

  // REQUIRES: the packet is at most kMaxOneByteMessageLength, so that each size
  // takes one byte.
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(const NewRun& run,
                                                 uint8_t* pos) {
    // Nothing fails from here on, so the reader gets to know the id.
    const uint64_t iid = run.ids->Add(run.task);
    uint8_t* const data = Begin<Data::kEventNamesFieldNumber>(
        Begin<trace::TracePacket::kInternedDataFieldNumber>(pos));
    uint8_t* const names_end =
        FieldsAppender::Encode(data, Name::kIid(iid), Name::kName(run.name));
    SetSize(data, names_end);
    uint8_t* const task = Begin<Data::kTaskRunsFieldNumber>(names_end);
    uint8_t* const end = FieldsAppender::Encode(
        task, Run::kIid(iid), Run::kTask(NumberInTrace(run.task)),
        Run::kSiteIid(run.task >> kTaskSiteShift));
    SetSize(task, end);
    SetSize(pos + 2, end);
    return end;
  }

 private:
  // Writes a field's tag, and returns the place after its size.
  template <uint32_t kField>
  static uint8_t* Begin(uint8_t* pos) {
    constexpr auto kTag = proto_utils::internal::EncodeTag(
        kField, proto_utils::ProtoWireType::kLengthDelimited);
    return kTag.Store(pos) + 1;
  }
  static void SetSize(uint8_t* begin, const uint8_t* end) {
    begin[-1] = static_cast<uint8_t>(end - begin);
  }
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_TASK_RUN_IDS_H_
