// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_RECORD_H_
#define SRC_TRACING_SCHEDULING_KERNEL_RECORD_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A record that the kernel has written to a ring of perf_event_open(), as far
// as it is of use here. A thread does something on a processor, and the record
// says when.
struct KernelRecord {
  enum class Kind : uint8_t {
    // The thread gets the processor.
    kIn,
    // The thread leaves the processor, and waits for something.
    kWait,
    // The thread leaves the processor, and wants to go on.
    kPreempted,
    // The thread has made another one, the subject.
    kFork,
    // The subject ends.
    kExit,
    // The subject has another name.
    kRename,
    // The subject's process runs another program, and has that name.
    kExec,
    // The subject's process has mapped code.
    kMap,
    // The stack of the thread.
    kSample,
    // The stack of the thread, which is about to leave the processor.
    kLeaving,
    // The thread, or an interrupt meanwhile, wakes the subject.
    kWaking,
    // Records of this ring are missing.
    kLost,
    // The thread was found in that state when its events were opened, which is
    // no record.
    kFoundRunning,
    kFoundReady,
    kFoundWaiting,
  };

  Kind kind = Kind::kLost;
  // True if a sample was taken in the kernel.
  bool is_in_kernel = false;
  // The flags of the kernel's trace events, if the record is of kWaking.
  uint8_t common_flags = 0;
  uint32_t cpu = 0;
  // The time on CLOCK_BOOTTIME.
  uint64_t time = 0;
  // The event that has written the record; see KernelEvents.
  uint64_t event_id = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  int32_t subject_pid = 0;
  int32_t subject_tid = 0;
  // The number of missing records. The first one is missing since |time|, the
  // last one was before |lost_until|.
  uint64_t lost = 0;
  uint64_t lost_until = 0;
  // The mapped addresses, and the place in the file.
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  // The mapped file, or the name.
  std::string text;
  // The bytes of the mapped file's build id; may be empty.
  std::string build_id;
  // The number of sampling periods that a sample stands for.
  uint64_t num_periods = 1;
  // The counters of the thread on this processor when the sample was taken, in
  // the order of KernelSamples. A number that is missing is 0.
  std::vector<uint64_t> counters;
  // The addresses of a sample, the innermost function first.
  std::vector<uint64_t> stack;
};

// The layout of samples, which depends on the event that has written them.
struct KernelSamples {
  // The kinds of events by their ids. Others are of kSample.
  std::unordered_map<uint64_t, KernelRecord::Kind> kinds;
  // The offset of the thread that is woken in the data of kWaking.
  size_t woken_offset = 0;

  // The number of counters that events of kSample have, and the places of the
  // counters' events among them.
  size_t num_counters = 0;
  std::unordered_map<uint64_t, size_t> counters;
  // True if counts are followed by the number of lost records.
  bool counts_losses = true;

  // Returns the fields of perf_event_attr::sample_type that KernelEvents asks
  // for. With |has_stacks|, events of kSample have callchains.
  uint64_t TypeOf(KernelRecord::Kind kind, bool has_stacks) const;
};

// Reads a record, header and all. Nothing in it is trusted. Returns false if it
// is of no use here, or not well-formed.
bool ParseKernelRecord(const uint8_t* bytes,
                       size_t size,
                       const KernelSamples& samples,
                       KernelRecord* record);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_RECORD_H_
