// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/tracing/scheduling/kernel_refusal.h"
#include "src/tracing/scheduling/process_files.h"
#include "src/tracing/scheduling/waking_tracepoint.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The sizes of rings; all together, they take no more than kMaxRingBytes. A
// recorder's largest ones have room for a second of the records that root gets
// from a busy processor. A program that records itself leaves the memory that
// it may lock to others: its largest ring is what perf_event_mlock_kb allows by
// default.
constexpr size_t kMaxRingSize = 4 << 20;
constexpr size_t kMaxOwnRingSize = 512 * 1024;
constexpr size_t kMinRingSize = 32 * 1024;
constexpr size_t kMaxRingBytes = 64 << 20;
// The share of a ring that wakes the reader.
constexpr size_t kWatermarkShare = 4;
// The bytes of all rings that may wait to be read. As records, they take about
// four times that.
constexpr size_t kMaxTakenBytes = 16 << 20;
// The bytes that are read between two looks at how much the rings have.
constexpr size_t kReadTogether = 16 * 1024;
// The number of times that a process's threads are listed. Threads that are
// made later have inherited their events.
constexpr int kMaxRounds = 5;
// PERF_FORMAT_LOST, which older headers lack.
constexpr uint64_t kReadsLosses = 1 << 4;
// Bits of perf_event_attr that older headers lack: build_id, and
// inherit_thread, with which new processes do not inherit events.
constexpr unsigned kBuildIdBit = 34;
constexpr unsigned kInheritThreadBit = 35;

// A larger difference is not that of two looks at one clock.
constexpr uint64_t kClockPrecisionNs = 20000;

uint64_t ReadKernelClock(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Returns the position at which the kernel writes to the ring at |memory|.
uint64_t HeadOf(void* memory) {
  auto* const page = static_cast<perf_event_mmap_page*>(memory);
  // Processors of 32 bits have no atomic access to it.
  return static_cast<volatile __u64&>(page->data_head);
}

// Sets one of the bits that begin with |disabled|.
void SetBit(perf_event_attr* attr, unsigned bit) {
  constexpr size_t kBitsOffset =
      offsetof(perf_event_attr, read_format) + sizeof(attr->read_format);
  uint64_t bits = 0;
  char* const place = reinterpret_cast<char*>(attr) + kBitsOffset;
  memcpy(&bits, place, sizeof(bits));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bit = 63 - bit;
#endif
  bits |= uint64_t{1} << bit;
  memcpy(place, &bits, sizeof(bits));
}

}  // namespace

KernelEvents::~KernelEvents() {
  // A child process may have copies of the descriptors, which keep events
  // alive.
  for (const auto& [pid, events] : attached_) {
    for (const Event& event : events)
      ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
  for (const Ring& ring : rings_) {
    if (ring.wakings.is_valid())
      ioctl(ring.wakings.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
  CloseRings();
}

bool KernelEvents::Open(std::string* error) {
  const auto processors =
      static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  ring_size_ = options_.follows_processes ? kMaxRingSize : kMaxOwnRingSize;
  while (ring_size_ > kMinRingSize && ring_size_ > kMaxRingBytes / processors)
    ring_size_ /= 2;
  FindPrivileges();
  FindCounters();
  CompareClocks();
  int problem = OpenRings(processors);
  // All processors get rings of the largest size that is allowed for all.
  while (problem == ENOMEM && ring_size_ > kMinRingSize) {
    CloseRings();
    ring_size_ /= 2;
    problem = OpenRings(processors);
  }
  if (problem != 0)
    *error = WhyRefused(0, problem);
  return problem == 0;
}

int KernelEvents::OpenRings(uint32_t processors) {
  for (uint32_t cpu = 0; cpu < processors; ++cpu) {
    const int problem = OpenRing(cpu);
    // ENODEV: the processor is off.
    if (problem != 0 && problem != ENODEV)
      return problem;
  }
  return 0;
}

void KernelEvents::CloseRings() {
  for (const Ring& ring : rings_)
    munmap(ring.memory, ring_size_ + PageSize());
  rings_.clear();
}

void KernelEvents::FindPrivileges() {
  if (!options_.has_switches)
    return;
  has_leaving_ = options_.samples_hz != 0;
  if (const auto tracepoint = FindWakingTracepoint(&why_no_wakings_)) {
    // The kernel has no other clock for tracepoints, which interrupts may pass
    // that nothing can hold up.
    clock_ = CLOCK_MONOTONIC;
    waking_id_ = tracepoint->id;
    samples_.woken_offset = tracepoint->woken_offset;
  }
}

void KernelEvents::FillAttr(KernelRecord::Kind kind,
                            perf_event_attr* attr) const {
  const bool has_samples = options_.samples_hz != 0;
  attr->size = sizeof(*attr);
  attr->type = PERF_TYPE_SOFTWARE;
  attr->sample_type = samples_.TypeOf(kind, has_samples);
  attr->read_format = PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                      (samples_.counts_losses ? kReadsLosses : 0) |
                      (counters_.empty() ? 0 : PERF_FORMAT_GROUP);
  attr->sample_id_all = 1;
  attr->inherit = 1;
  if (!options_.follows_processes && inherits_by_thread_)
    SetBit(attr, kInheritThreadBit);
  attr->exclude_hv = 1;
  attr->exclude_callchain_kernel = 1;
  attr->use_clockid = 1;
  attr->clockid = clock_;
  attr->watermark = 1;
  attr->wakeup_watermark = static_cast<uint32_t>(ring_size_ / kWatermarkShare);
  if (kind == KernelRecord::Kind::kWaking) {
    attr->type = PERF_TYPE_TRACEPOINT;
    attr->config = waking_id_;
    attr->sample_period = 1;
    return;
  }
  if (kind == KernelRecord::Kind::kLeaving) {
    attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr->sample_period = 1;
    return;
  }
  attr->config = has_samples ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
  attr->sample_period = options_.sample_period();
  attr->context_switch = options_.has_switches;
  attr->comm = 1;
  attr->comm_exec = 1;
  attr->task = 1;
  attr->mmap = has_samples;
  attr->mmap2 = has_samples;
  attr->exclude_kernel = !has_samples || !samples_kernel_;
  if (has_samples && wants_build_ids_)
    SetBit(attr, kBuildIdBit);
}

int KernelEvents::OpenEvent(KernelRecord::Kind kind, int32_t tid, int cpu) {
  const bool has_samples = options_.samples_hz != 0;
  perf_event_attr attr = {};
  FillAttr(kind, &attr);
  attr.disabled = tid <= 0;
  attr.enable_on_exec = tid == 0 && options_.follows_processes;
  const long fd =
      syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0 || kind != KernelRecord::Kind::kSample)
    return static_cast<int>(fd);
  // Kernels before 6.0, 5.13 and 5.12 do not know these.
  if (errno == EINVAL && (std::exchange(samples_.counts_losses, false) ||
                          std::exchange(inherits_by_thread_, false) ||
                          std::exchange(wants_build_ids_, false))) {
    return OpenEvent(kind, tid, cpu);
  }
  if (errno == EACCES && has_samples && std::exchange(samples_kernel_, false))
    return OpenEvent(kind, tid, cpu);
  return -1;
}

bool KernelEvents::OpenEventFor(const Ring& ring,
                                KernelRecord::Kind kind,
                                int32_t tid,
                                ScopedFd* fd) {
  fd->Reset(OpenEvent(kind, tid, static_cast<int>(ring.cpu)));
  if (!fd->is_valid() && errno == EMFILE && RaiseLimit())
    fd->Reset(OpenEvent(kind, tid, static_cast<int>(ring.cpu)));
  if (IsTooMany(fd->get())) {
    errno = EMFILE;
    return false;
  }
  if (!fd->is_valid() ||
      ioctl(fd->get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd.get()) != 0) {
    return false;
  }
  if (kind != KernelRecord::Kind::kSample)
    samples_.kinds[ReadCounts(fd->get()).id] = kind;
  return true;
}

int KernelEvents::OpenRing(uint32_t cpu) {
  Ring ring;
  ring.cpu = cpu;
  ring.fd.Reset(
      OpenEvent(KernelRecord::Kind::kSample, 0, static_cast<int>(cpu)));
  if (!ring.fd.is_valid())
    return errno;
  if (const int problem = MapRing(&ring))
    return problem;
  ring.counters = OpenCounters(ring.fd.get(), 0, cpu);
  // The rest is for those who may.
  has_leaving_ =
      has_leaving_ &&
      OpenEventFor(ring, KernelRecord::Kind::kLeaving, 0, &ring.leaving);
  if (waking_id_ != 0 &&
      !OpenEventFor(ring, KernelRecord::Kind::kWaking, -1, &ring.wakings)) {
    waking_id_ = 0;
  }
  rings_.push_back(std::move(ring));
  return 0;
}

int KernelEvents::MapRing(Ring* ring) const {
  ring->memory = mmap(nullptr, ring_size_ + PageSize(), PROT_READ | PROT_WRITE,
                      MAP_SHARED, ring->fd.get(), 0);
  // EPERM: this user may not lock so much memory, or other recorders have it.
  if (ring->memory == MAP_FAILED)
    return errno == EPERM ? ENOMEM : errno;
  ring->reader = std::make_unique<KernelRing>(
      static_cast<const uint8_t*>(ring->memory) + PageSize(), ring_size_,
      samples_);
  return 0;
}

void KernelEvents::AddEvent(int32_t tid,
                            Event event,
                            std::vector<Event>* events) {
  event.id = ReadCounts(event.fd.get()).id;
  owners_[event.id] = tid;
  events->push_back(std::move(event));
}

int KernelEvents::AttachThread(int32_t tid, std::vector<Event>* events) {
  for (size_t i = 0; i < rings_.size(); ++i) {
    const Ring& ring = rings_[i];
    Event event;
    event.ring = i;
    if (!OpenEventFor(ring, KernelRecord::Kind::kSample, tid, &event.fd))
      return errno;
    event.counters = OpenCounters(event.fd.get(), tid, ring.cpu);
    AddEvent(tid, std::move(event), events);
    Event leaving;
    leaving.ring = i;
    if (has_leaving_ &&
        OpenEventFor(ring, KernelRecord::Kind::kLeaving, tid, &leaving.fd)) {
      AddEvent(tid, std::move(leaving), events);
    }
  }
  return 0;
}

bool KernelEvents::IsTooMany(int fd) const {
  rlimit limit = {};
  return !options_.follows_processes && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         fd >= 0 && static_cast<rlim_t>(fd) > limit.rlim_cur / 2;
}

bool KernelEvents::RaiseLimit() {
  rlimit limit = {};
  // The limit of a program that records itself is the program's.
  if (!options_.follows_processes)
    return false;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == limit.rlim_max) {
    return false;
  }
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool KernelEvents::Attach(int32_t pid,
                          std::vector<int32_t>* tids,
                          std::string* error) {
  std::vector<Event>& events = attached_[pid];
  std::set<int32_t> known;
  for (int round = 0; round < kMaxRounds; ++round) {
    const size_t num_known = known.size();
    for (const int32_t tid : ThreadsOf(pid)) {
      if (!known.insert(tid).second)
        continue;
      const int problem = AttachThread(tid, &events);
      // The thread has ended meanwhile.
      if (problem == ESRCH)
        continue;
      if (problem != 0) {
        *error = WhyRefused(options_.follows_processes ? pid : 0, problem);
        attached_.erase(pid);
        return false;
      }
      tids->push_back(tid);
    }
    if (known.size() == num_known)
      break;
  }
  return true;
}

void KernelEvents::StartWakings() {
  for (const Ring& ring : rings_) {
    if (ring.wakings.is_valid())
      ioctl(ring.wakings.get(), PERF_EVENT_IOC_ENABLE, 0);
  }
}

void KernelEvents::Wait(int timeout_ms, int other_fd) {
  std::vector<pollfd> fds;
  fds.push_back({other_fd, POLLIN, 0});
  for (const Ring& ring : rings_)
    fds.push_back({ring.fd.get(), POLLIN, 0});
  poll(fds.data(), fds.size(), timeout_ms);
  CompareClocks();
}

void KernelEvents::Take(const Ring& ring) const {
  const uint64_t head = HeadOf(ring.memory);
  __sync_synchronize();
  const bool was_full = ring.reader->Take(head);
  __sync_synchronize();
  auto* const page = static_cast<perf_event_mmap_page*>(ring.memory);
  static_cast<volatile __u64&>(page->data_tail) = ring.reader->tail();
  if (was_full)
    ring.reader->AddDoubt(ReadKernelClock(clock_));
}

void KernelEvents::TakeMuch() {
  uint64_t taken = 0;
  for (const Ring& ring : rings_)
    taken += ring.reader->num_unread();
  for (const Ring& ring : rings_) {
    const uint64_t size = HeadOf(ring.memory) - ring.reader->tail();
    if (size >= ring_size_ / kWatermarkShare &&
        taken + size <= kMaxTakenBytes) {
      Take(ring);
      taken += size;
    }
  }
}

void KernelEvents::Read(size_t index, std::vector<KernelRecord>* records) {
  const Ring& ring = rings_[index];
  const size_t first = records->size();
  Take(ring);
  const size_t end = ring.reader->num_unread();
  for (size_t begin = 0; begin < end; begin += kReadTogether) {
    ring.reader->Read(std::min(kReadTogether, end - begin), records);
    TakeMuch();
  }
  FinishRecords(ring, first, records);
}

void KernelEvents::ReadLast(size_t index, std::vector<KernelRecord>* records) {
  const Ring& ring = rings_[index];
  const size_t first = records->size();
  Take(ring);
  ring.reader->Read(SIZE_MAX, records);
  uint64_t lost = ring.lost_before + ReadCounts(ring.fd.get()).lost;
  if (ring.leaving.is_valid())
    lost += ReadCounts(ring.leaving.get()).lost;
  if (ring.wakings.is_valid())
    lost += ReadCounts(ring.wakings.get()).lost;
  for (const auto& [pid, events] : attached_) {
    for (const Event& event : events)
      lost += event.ring == index ? ReadCounts(event.fd.get()).lost : 0;
  }
  ring.reader->AddUntoldLoss(lost, ReadKernelClock(clock_), records);
  FinishRecords(ring, first, records);
}

void KernelEvents::FinishRecords(const Ring& ring,
                                 size_t first,
                                 std::vector<KernelRecord>* records) const {
  for (size_t i = first; i < records->size(); ++i) {
    KernelRecord& record = (*records)[i];
    record.time += clock_offset_;
    if (record.kind == KernelRecord::Kind::kLost) {
      record.cpu = ring.cpu;
      record.lost_until += clock_offset_;
    }
  }
}

void KernelEvents::CompareClocks() {
  if (clock_ == CLOCK_BOOTTIME)
    return;
  const uint64_t before = ReadKernelClock(clock_);
  const uint64_t offset = ReadKernelClock(CLOCK_BOOTTIME) - before;
  // The difference only grows when the machine sleeps. It stays as it is
  // otherwise, so that times stay in order.
  if (offset > clock_offset_ + kClockPrecisionNs &&
      ReadKernelClock(clock_) - before < kClockPrecisionNs) {
    clock_offset_ = offset;
  }
}

KernelEvents::Counts KernelEvents::ReadCounts(int fd) const {
  Counts counts;
  const size_t lost_size = samples_.counts_losses ? sizeof(counts.lost) : 0;
  if (counters_.empty()) {
    const size_t size = offsetof(Counts, lost) + lost_size;
    if (read(fd, &counts, size) != static_cast<ssize_t>(size))
      return {};
    return counts;
  }
  // The number of events in a group, the time, and the first one's counts.
  uint64_t group[2 + 3 * (1 + kMaxKernelCounters)] = {};
  const ssize_t size = read(fd, group, sizeof(group));
  if (size < static_cast<ssize_t>(4 * sizeof(uint64_t) + lost_size))
    return {};
  counts.value = group[2];
  counts.ran = group[1];
  counts.id = group[3];
  counts.lost = lost_size == 0 ? 0 : group[4];
  return counts;
}

uint64_t KernelEvents::RanOn(int32_t pid, int32_t tid, uint32_t cpu) const {
  const auto process = attached_.find(pid);
  if (process == attached_.end())
    return 0;
  for (const Event& event : process->second) {
    const auto owner = owners_.find(event.id);
    if (rings_[event.ring].cpu == cpu && owner != owners_.end() &&
        owner->second == tid && samples_.kinds.count(event.id) == 0) {
      return ReadCounts(event.fd.get()).ran;
    }
  }
  return 0;
}

void KernelEvents::Detach(int32_t pid) {
  const auto it = attached_.find(pid);
  if (it == attached_.end())
    return;
  for (const Event& event : it->second) {
    rings_[event.ring].lost_before += ReadCounts(event.fd.get()).lost;
    owners_.erase(event.id);
    samples_.kinds.erase(event.id);
    for (const auto& [id, fd] : event.counters)
      samples_.counters.erase(id);
  }
  attached_.erase(it);
}

bool KernelEvents::IsRepeated(const KernelRecord& record,
                              bool has_own_events) const {
  // The events of kWaking belong to no thread.
  if (!has_own_events || record.kind >= KernelRecord::Kind::kLost ||
      record.kind == KernelRecord::Kind::kWaking) {
    return false;
  }
  const auto owner = owners_.find(record.event_id);
  return owner == owners_.end() || owner->second != record.tid;
}

uint64_t KernelEvents::num_lost() const {
  uint64_t sum = 0;
  for (const Ring& ring : rings_)
    sum += ring.reader->num_lost();
  return sum;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
