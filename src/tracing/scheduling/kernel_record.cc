// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_record.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

using RecordKind = KernelRecord::Kind;

// The fields at the end of all records but samples, in this order:
//
//   | pid u32 | tid u32 | time u64 | cpu u32 | 0 u32 | event id u64 |
constexpr size_t kTrailerSize = 32;
// PERF_CONTEXT_MAX is the smallest of the marks between the kernel's part of a
// callchain and the user's. They are no addresses.
constexpr uint64_t kFirstMark = static_cast<uint64_t>(PERF_CONTEXT_MAX);
// A bit of the misc field of PERF_RECORD_MMAP2 that older headers lack.
constexpr uint16_t kMiscHasBuildId = 1 << 14;
constexpr size_t kMaxKernelBuildIdSize = 20;

// Takes numbers from the front of bytes, and zeros when there are none left.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  T Take() {
    T value = 0;
    if (size_ < sizeof(T)) {
      is_short_ = true;
      size_ = 0;
      return value;
    }
    memcpy(&value, data_, sizeof(T));
    Skip(sizeof(T));
    return value;
  }
  void Skip(size_t size) {
    is_short_ = is_short_ || size > size_;
    size = std::min(size, size_);
    data_ += size;
    size_ -= size;
  }
  // Returns the text up to the first zero.
  std::string Text() const {
    const char* const text = reinterpret_cast<const char*>(data_);
    return std::string(text, strnlen(text, size_));
  }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool is_short() const { return is_short_; }

 private:
  const uint8_t* data_;
  size_t size_;
  bool is_short_ = false;
};

void ReadThread(Bytes* bytes, int32_t* pid, int32_t* tid) {
  *pid = bytes->Take<int32_t>();
  *tid = bytes->Take<int32_t>();
}

void ReadTrailer(Bytes bytes, KernelRecord* record) {
  ReadThread(&bytes, &record->pid, &record->tid);
  record->time = bytes.Take<uint64_t>();
  record->cpu = bytes.Take<uint32_t>();
  bytes.Skip(sizeof(uint32_t));
  record->event_id = bytes.Take<uint64_t>();
}

// Reads the data of a tracepoint:
//
//   | size u32 | type u16 | flags u8 | preempt count u8 | ... | woken s32 | ...
bool ReadWaking(Bytes bytes, size_t woken_offset, KernelRecord* record) {
  const uint32_t size = bytes.Take<uint32_t>();
  if (bytes.is_short() || size > bytes.size())
    return false;
  Bytes flags(bytes.data(), size);
  Bytes woken = flags;
  flags.Skip(sizeof(uint16_t));
  record->common_flags = flags.Take<uint8_t>();
  woken.Skip(woken_offset);
  record->subject_tid = woken.Take<int32_t>();
  return !flags.is_short() && !woken.is_short();
}

// Reads the counts of a group of events, whose first one has taken the sample:
//
//   | number u64 | time u64 | { value u64 | event id u64 | (lost u64) } ...
bool ReadCounters(const KernelSamples& samples,
                  Bytes* bytes,
                  KernelRecord* record) {
  const uint64_t number = bytes->Take<uint64_t>();
  bytes->Skip(sizeof(uint64_t));
  const size_t fields = samples.counts_losses ? 3 : 2;
  if (number > bytes->size() / (fields * sizeof(uint64_t)))
    return false;
  record->counters.resize(samples.num_counters);
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t value = bytes->Take<uint64_t>();
    const auto place = samples.counters.find(bytes->Take<uint64_t>());
    bytes->Skip((fields - 2) * sizeof(uint64_t));
    if (place != samples.counters.end())
      record->counters[place->second] = value;
  }
  return true;
}

bool ReadSample(Bytes bytes,
                uint16_t misc,
                const KernelSamples& samples,
                KernelRecord* record) {
  record->is_in_kernel =
      (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  record->event_id = bytes.Take<uint64_t>();
  const auto kind = samples.kinds.find(record->event_id);
  record->kind =
      kind == samples.kinds.end() ? RecordKind::kSample : kind->second;
  ReadThread(&bytes, &record->pid, &record->tid);
  record->time = bytes.Take<uint64_t>();
  record->cpu = bytes.Take<uint32_t>();
  bytes.Skip(sizeof(uint32_t));
  if (record->kind == RecordKind::kWaking)
    return ReadWaking(bytes, samples.woken_offset, record);
  if (record->kind == RecordKind::kSample && samples.num_counters != 0 &&
      !ReadCounters(samples, &bytes, record)) {
    return false;
  }
  const uint64_t depth = bytes.Take<uint64_t>();
  if (bytes.is_short() || depth > bytes.size() / sizeof(uint64_t))
    return false;
  for (uint64_t i = 0; i < depth; ++i) {
    const uint64_t address = bytes.Take<uint64_t>();
    if (address < kFirstMark)
      record->stack.push_back(address);
  }
  return true;
}

bool ReadMap(Bytes bytes, uint16_t misc, KernelRecord* record) {
  record->kind = RecordKind::kMap;
  ReadThread(&bytes, &record->subject_pid, &record->subject_tid);
  record->address = bytes.Take<uint64_t>();
  record->size = bytes.Take<uint64_t>();
  record->file_offset = bytes.Take<uint64_t>();
  Bytes build_id = bytes;
  bytes.Skip(24);
  const uint32_t protection = bytes.Take<uint32_t>();
  bytes.Skip(sizeof(uint32_t));
  if (bytes.is_short() || (protection & PROT_EXEC) == 0)
    return false;
  if ((misc & kMiscHasBuildId) != 0) {
    const size_t size = build_id.Take<uint8_t>();
    build_id.Skip(3);
    record->build_id.assign(reinterpret_cast<const char*>(build_id.data()),
                            std::min(size, kMaxKernelBuildIdSize));
  }
  record->text = bytes.Text();
  return true;
}

// Reads the part before the trailer.
bool ReadBody(uint32_t type, uint16_t misc, Bytes bytes, KernelRecord* record) {
  switch (type) {
    case PERF_RECORD_SWITCH:
      record->kind = (misc & PERF_RECORD_MISC_SWITCH_OUT) == 0 ? RecordKind::kIn
                     : (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0
                         ? RecordKind::kPreempted
                         : RecordKind::kWait;
      return true;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      record->kind =
          type == PERF_RECORD_FORK ? RecordKind::kFork : RecordKind::kExit;
      record->subject_pid = bytes.Take<int32_t>();
      bytes.Skip(sizeof(uint32_t));
      record->subject_tid = bytes.Take<int32_t>();
      return !bytes.is_short();
    case PERF_RECORD_COMM:
      record->kind = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0
                         ? RecordKind::kExec
                         : RecordKind::kRename;
      ReadThread(&bytes, &record->subject_pid, &record->subject_tid);
      record->text = bytes.Text();
      return !bytes.is_short();
    case PERF_RECORD_MMAP2:
      return ReadMap(bytes, misc, record);
    case PERF_RECORD_LOST:
      bytes.Skip(sizeof(uint64_t));
      record->kind = RecordKind::kLost;
      record->lost = bytes.Take<uint64_t>();
      return !bytes.is_short();
    default:
      return false;
  }
}

}  // namespace

uint64_t KernelSamples::TypeOf(RecordKind kind, bool has_stacks) const {
  constexpr uint64_t kTrailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  if (kind == RecordKind::kWaking)
    return kTrailer | PERF_SAMPLE_RAW;
  const bool has_counters = kind == RecordKind::kSample && num_counters != 0;
  return kTrailer | (has_stacks ? PERF_SAMPLE_CALLCHAIN : 0) |
         (has_counters ? PERF_SAMPLE_READ : 0);
}

bool ParseKernelRecord(const uint8_t* data,
                       size_t size,
                       const KernelSamples& samples,
                       KernelRecord* record) {
  *record = KernelRecord();
  Bytes bytes(data, size);
  const uint32_t type = bytes.Take<uint32_t>();
  const uint16_t misc = bytes.Take<uint16_t>();
  if (bytes.Take<uint16_t>() != size || bytes.is_short())
    return false;
  if (type == PERF_RECORD_SAMPLE)
    return ReadSample(bytes, misc, samples, record);
  if (bytes.size() < kTrailerSize)
    return false;
  const size_t body_size = bytes.size() - kTrailerSize;
  ReadTrailer(Bytes(bytes.data() + body_size, kTrailerSize), record);
  return ReadBody(type, misc, Bytes(bytes.data(), body_size), record);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
