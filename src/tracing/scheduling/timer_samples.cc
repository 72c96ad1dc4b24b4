// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/timer_samples.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "src/tracing/scheduling/process_files.h"
#include "src/tracing/scheduling/stack_walk.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The samples of one thread, which its handler writes and the recorder reads.
// Positions only grow; words are where positions say, modulo the size. A
// sample:
//
//   | number of addresses | periods | time | processor | address ... |
struct SampleSlot {
  static constexpr uint32_t kNumWords = 1 << 14;
  static constexpr uint32_t kHeaderWords = 4;
  static constexpr uint32_t kMaxWords = kHeaderWords + kMaxStackDepth;
  static constexpr int32_t kGivenUp = -1;

  // The thread; 0 if the slot is free, kGivenUp if it cannot be used again.
  std::atomic<int32_t> tid{0};
  // The number of handlers that look at it, or write to it.
  std::atomic<int> num_handlers{0};
  std::atomic<uint32_t> head{0};
  std::atomic<uint32_t> tail{0};
  std::atomic<uint32_t> num_lost{0};
  // The largest number of periods that a sample stands for.
  std::atomic<uint32_t> max_periods{1};
  std::atomic<uint64_t> words[kNumWords];

  std::atomic<uint64_t>& at(uint32_t position) {
    return words[position % kNumWords];
  }
};

// A handler may run at any time, so slots are never freed; others use them
// again.
constexpr uint32_t kMaxSlots = 4096;
std::atomic<SampleSlot*> g_slots[kMaxSlots];

// True for signals that are taken, or are about to be: several can start at
// once.
std::atomic<bool> g_is_taken[_NSIG];

// The number of waits for handlers, and how long one is.
constexpr int kMaxWaits = 1000;
constexpr useconds_t kWaitUs = 1000;

// The longest time that a sample stands for. The clock ticks more often, but a
// virtual machine may be late.
constexpr uint64_t kMaxSampleNs = 100000000;

// The end of the main thread's stack.
std::atomic<uintptr_t> g_main_stack_end{0};

int32_t ThisThread() {
  return static_cast<int32_t>(syscall(SYS_gettid));
}

void WriteSample(SampleSlot* slot, int overrun, const void* context) {
  const uint32_t head = slot->head.load(std::memory_order_relaxed);
  const uint32_t used = head - slot->tail;
  if (used > SampleSlot::kNumWords - SampleSlot::kMaxWords) {
    slot->num_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // The thread may have blocked the signal for long: nothing says where it ran
  // meanwhile.
  const uint32_t passed = static_cast<uint32_t>(std::max(overrun, 0)) + 1;
  const uint32_t periods = std::min(passed, slot->max_periods.load());
  slot->num_lost += passed - periods;
  StackWalk walk(context, g_main_stack_end.load(std::memory_order_relaxed));
  uint32_t depth = 0;
  for (; depth < kMaxStackDepth; ++depth) {
    const uintptr_t address = walk.Next();
    if (address == 0)
      break;
    slot->at(head + SampleSlot::kHeaderWords + depth)
        .store(address, std::memory_order_relaxed);
  }
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  unsigned cpu = 0;
  syscall(SYS_getcpu, &cpu, nullptr, nullptr);
  const uint64_t header[SampleSlot::kHeaderWords] = {
      depth, periods,
      static_cast<uint64_t>(now.tv_sec) * 1000000000 +
          static_cast<uint64_t>(now.tv_nsec),
      cpu};
  for (uint32_t i = 0; i < SampleSlot::kHeaderWords; ++i)
    slot->at(head + i).store(header[i], std::memory_order_relaxed);
  slot->head = head + SampleSlot::kHeaderWords + depth;
}

// The handler. Async-signal-safe: it calls the kernel, and changes no more than
// its thread's slot.
void OnTimer(int, siginfo_t* info, void* context) {
  const int error = errno;
  const auto index = static_cast<uint32_t>(info->si_value.sival_int);
  if (info->si_code == SI_TIMER && index < kMaxSlots) {
    SampleSlot* const slot = g_slots[index];
    if (slot != nullptr) {
      // Either this finds that the slot was given up, or who gives it up waits.
      ++slot->num_handlers;
      if (slot->tid == ThisThread())
        WriteSample(slot, info->si_overrun, context);
      --slot->num_handlers;
    }
  }
  errno = error;
}

// Returns a slot for a thread, or kMaxSlots if there is none.
uint32_t TakeSlot(int32_t tid) {
  for (uint32_t i = 0; i < kMaxSlots; ++i) {
    SampleSlot* slot = g_slots[i];
    if (slot == nullptr) {
      // Pages that no sample needs take no memory.
      void* const memory =
          mmap(nullptr, sizeof(SampleSlot), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED)
        return kMaxSlots;
      // Its zeros are a free slot.
      auto* const made = static_cast<SampleSlot*>(memory);
      if (g_slots[i].compare_exchange_strong(slot, made))
        slot = made;
      else
        munmap(memory, sizeof(SampleSlot));
    }
    int32_t is_free = 0;
    if (slot->tid.compare_exchange_strong(is_free, tid))
      return i;
  }
  return kMaxSlots;
}

// Returns the clock of a thread's processor time, as the kernel puts it
// together.
clockid_t ClockOf(int32_t tid) {
  constexpr uint32_t kOfThread = 4;
  constexpr uint32_t kScheduler = 2;
  return static_cast<clockid_t>(~static_cast<uint32_t>(tid) << 3 | kOfThread |
                                kScheduler);
}

void SetThread(sigevent* event, int32_t tid) {
#if defined(sigev_notify_thread_id)
  event->sigev_notify_thread_id = tid;
#else
  event->_sigev_un._tid = tid;
#endif
}

// The call that takes a time in two of `long`, which musl renames where that
// has 32 bits.
#if defined(SYS_timer_settime)
constexpr long kSetTimer = SYS_timer_settime;
#else
constexpr long kSetTimer = SYS_timer_settime32;
#endif

// Returns a timer's id, or -1. Not timer_create(), for which older C libraries
// need another library.
int MakeTimer(int32_t tid, int signal, uint32_t slot, uint64_t period) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_int = static_cast<int>(slot);
  SetThread(&event, tid);
  int id = -1;
  if (syscall(SYS_timer_create, ClockOf(tid), &event, &id) != 0)
    return -1;
  // The kernel's itimerspec: the interval, and the first time.
  const long seconds = static_cast<long>(period / 1000000000);
  const long rest = static_cast<long>(period % 1000000000);
  const long times[4] = {seconds, rest, seconds, rest};
  if (syscall(kSetTimer, id, 0, times, nullptr) != 0) {
    const int error = errno;
    syscall(SYS_timer_delete, id);
    errno = error;
    return -1;
  }
  return id;
}

void SetHandler(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// Takes the slot from its thread. A handler may be running: it takes some
// microseconds, unless its thread gets no processor. Returns false if it still
// does after a second.
bool TakeBack(SampleSlot* slot) {
  slot->tid = SampleSlot::kGivenUp;
  for (int i = 0; slot->num_handlers != 0; ++i) {
    if (i == kMaxWaits)
      return false;
    usleep(kWaitUs);
  }
  return true;
}

}  // namespace

TimerSamples::~TimerSamples() {
  Stop();
}

bool TimerSamples::Start(std::string* error) {
  if (!StackWalk::IsPossible()) {
    *error = "there are no samples by timers on this processor";
    return false;
  }
  g_main_stack_end = StackEndOf(getpid());
  struct sigaction action = {};
  action.sa_sigaction = &OnTimer;
  // The handler may run on the stack that a thread has for signals.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  // Programs begin at the other end.
  for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; --signal) {
    if (g_is_taken[signal].exchange(true))
      continue;
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_DFL &&
        sigaction(signal, &action, nullptr) == 0) {
      signal_ = signal;
      return true;
    }
    g_is_taken[signal] = false;
  }
  *error = "no real-time signal is left for samples by timers";
  return false;
}

bool TimerSamples::HasSignal() const {
  struct sigaction action = {};
  return signal_ != 0 && sigaction(signal_, nullptr, &action) == 0 &&
         (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &OnTimer;
}

bool TimerSamples::Follow(const std::vector<int32_t>& tids) {
  if (!HasSignal()) {
    RemoveAll();
    return false;
  }
  const int32_t own = ThisThread();
  for (auto it = timers_.begin(); it != timers_.end();) {
    const bool is_there =
        std::find(tids.begin(), tids.end(), it->first) != tids.end();
    if (!is_there)
      Remove(it->first, it->second);
    it = is_there ? std::next(it) : timers_.erase(it);
  }
  for (const int32_t tid : tids) {
    // A thread that begins blocks all signals for a moment.
    if (tid != own && !Has(tid) && !BlocksSignal(getpid(), tid, signal_))
      Add(tid);
  }
  return true;
}

void TimerSamples::Add(int32_t tid) {
  const uint32_t slot = TakeSlot(tid);
  if (slot == kMaxSlots) {
    lacks_timers_ = true;
    return;
  }
  g_slots[slot].load()->max_periods =
      static_cast<uint32_t>(std::max(kMaxSampleNs / period_, uint64_t{1}));
  // A timer that nothing deletes would end the program later.
  Timer* timer = nullptr;
  RunsInMemory([&] { timer = &timers_[tid]; });
  if (timer != nullptr) {
    timer->slot = slot;
    timer->id = MakeTimer(tid, signal_, slot, period_);
    if (timer->id >= 0)
      return;
    const int error = errno;
    timers_.erase(tid);
    errno = error;
  } else {
    errno = ENOMEM;
  }
  // Otherwise, the thread has ended.
  lacks_timers_ |= errno == EAGAIN || errno == ENOMEM;
  g_slots[slot].load()->tid = 0;
}

void TimerSamples::Remove(int32_t tid, const Timer& timer) {
  has_lost_timer_ |= syscall(SYS_timer_delete, timer.id) != 0;
  SampleSlot* const slot = g_slots[timer.slot];
  const bool is_free = TakeBack(slot);
  if (!RunsInMemory([&] { TakeFrom(tid, timer.slot, &ended_); })) {
    slot->tail = slot->head.load();
    ++num_lost_;
  }
  num_lost_ += slot->num_lost.exchange(0);
  if (is_free)
    slot->tid = 0;
}

void TimerSamples::RemoveAll() {
  for (const auto& [tid, timer] : timers_)
    Remove(tid, timer);
  timers_.clear();
}

void TimerSamples::Stop() {
  if (signal_ == 0)
    return;
  RemoveAll();
  // A timer that goes on needs its handler.
  if (HasSignal() && !has_lost_timer_) {
    // Signals that threads have not taken yet would end the program. The kernel
    // forgets them when they are ignored.
    SetHandler(signal_, SIG_IGN);
    SetHandler(signal_, SIG_DFL);
  }
  g_is_taken[std::exchange(signal_, 0)] = false;
}

void TimerSamples::Take(std::vector<KernelRecord>* records) {
  std::move(ended_.begin(), ended_.end(), std::back_inserter(*records));
  ended_.clear();
  for (const auto& [tid, timer] : timers_)
    TakeFrom(tid, timer.slot, records);
}

void TimerSamples::TakeFrom(int32_t tid,
                            uint32_t index,
                            std::vector<KernelRecord>* records) {
  SampleSlot& slot = *g_slots[index];
  const uint32_t head = slot.head;
  uint32_t tail = slot.tail;
  const auto word = [&slot, &tail](uint32_t i) {
    return slot.at(tail + i).load(std::memory_order_relaxed);
  };
  while (tail != head) {
    const auto depth = static_cast<uint32_t>(word(0));
    KernelRecord record;
    record.kind = KernelRecord::Kind::kSample;
    record.pid = getpid();
    record.tid = tid;
    record.num_periods = word(1);
    record.time = word(2);
    record.cpu = static_cast<uint32_t>(word(3));
    for (uint32_t i = 0; i < depth; ++i)
      record.stack.push_back(word(SampleSlot::kHeaderWords + i));
    tail += SampleSlot::kHeaderWords + depth;
    records->push_back(std::move(record));
  }
  slot.tail = tail;
}

uint64_t TimerSamples::TakeNumLost() {
  for (const auto& [tid, timer] : timers_)
    num_lost_ += g_slots[timer.slot].load()->num_lost.exchange(0);
  const uint64_t lost = num_lost_;
  num_lost_ = 0;
  return lost;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
