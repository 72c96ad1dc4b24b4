// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/model/weak/checker.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "test/model/weak/checker_impl.h"

// The linker's.
extern "C" char __data_start[];
extern "C" char _end[];

namespace protozero::weak {

namespace {

// The objects of scenarios are here, at the same addresses in each execution.
constexpr size_t kArenaSize = 1 << 20;
constexpr size_t kStackSize = 128 * 1024;
constexpr size_t kMaxStepsKept = 200;

// All that the checker keeps in variables of the program. They have the same
// values whenever those of the scenario are reset.
Checker* g_checker = nullptr;
int g_depth = 0;
uint8_t* g_arena = nullptr;

struct Span {
  char* begin;
  size_t size;
};

// The variables of the program, but not those of the C library.
Span Globals() {
  return {__data_start, static_cast<size_t>(_end - __data_start)};
}

Span ThreadLocals() {
  Span span = {nullptr, 0};
  // The first object is the program.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type == PT_TLS) {
            *static_cast<Span*>(result) = {
                static_cast<char*>(info->dlpi_tls_data),
                info->dlpi_phdr[i].p_memsz};
          }
        }
        return 1;
      },
      &span);
  return span;
}

std::vector<char> Save(Span span) {
  return std::vector<char>(span.begin, span.begin + span.size);
}

void Restore(Span span, const std::vector<char>& saved) {
  if (span.size != 0)
    memcpy(span.begin, saved.data(), span.size);
}

}  // namespace

Checker* Checker::Current() {
  return g_depth == 0 ? g_checker : nullptr;
}

Checker::AtWork::AtWork() {
  ++g_depth;
}
Checker::AtWork::~AtWork() {
  --g_depth;
}

Checker::Checker(const Scenario& scenario,
                 const std::vector<Weakening>& weakenings)
    : scenario_(scenario), weakenings_(weakenings), memory_(&exploration_) {
  if (g_arena == nullptr) {
    void* const wanted = reinterpret_cast<void*>(uintptr_t{1} << 44);
    g_arena = static_cast<uint8_t*>(
        mmap(wanted, kArenaSize, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0));
    if (g_arena != wanted)
      abort();
  }
  for (Context& context : contexts_)
    context.stack.reset(new char[kStackSize]);
  memory_.AddRegion(reinterpret_cast<uintptr_t>(g_arena), kArenaSize);
  memory_.AddRegion(reinterpret_cast<uintptr_t>(Globals().begin),
                    Globals().size);
  g_checker = this;
}

Checker::~Checker() {
  g_checker = nullptr;
}

void* Checker::Allocate(size_t size) {
  constexpr size_t kAlignment = 64;
  const size_t begin = allocated_;
  allocated_ = (allocated_ + size + kAlignment - 1) / kAlignment * kAlignment;
  if (allocated_ > kArenaSize)
    abort();
  return g_arena + begin;
}

bool Checker::IsAllocated(const void* pointer) {
  return g_arena != nullptr && pointer >= g_arena &&
         pointer < g_arena + kArenaSize;
}

Result Checker::Run() {
  const AtWork at_work;
  globals_ = Save(Globals());
  thread_locals_ = Save(ThreadLocals());
  for (;;) {
    exploration_.BeginExecution();
    RunExecution();
    if (memory_.TakeNewShared() && result_.failure.empty()) {
      exploration_ = Exploration();
      result_ = {};
      outcomes_.clear();
      continue;
    }
    if (!is_redundant_)
      ++result_.executions;
    if (!result_.failure.empty() || !exploration_.EndExecution(pending_))
      break;
  }
  // The next scenario begins with what this one began with.
  Restore(Globals(), globals_);
  Restore(ThreadLocals(), thread_locals_);
  result_.outcomes.assign(outcomes_.begin(), outcomes_.end());
  for (const auto& [pc, site] : sites_)
    result_.sites.push_back(site);
  return std::move(result_);
}

void Checker::RunThread() {
  Checker* const self = g_checker;
  // The checker switched here.
  const int depth = std::exchange(g_depth, 0);
  self->scenario_.thread(self->state_, self->thread_ - 1);
  g_depth = depth;
  const size_t own = static_cast<size_t>(self->thread_);
  self->contexts_[own].is_done = true;
  self->pending_[own] = Step();
  if (self->is_starting_)
    self->Leave();
  self->SwitchToNext();
}

void Checker::RunExecution() {
  memset(g_arena, 0, allocated_);
  allocated_ = 0;
  Restore(Globals(), globals_);
  Restore(ThreadLocals(), thread_locals_);
  memory_.Reset();
  pending_ = {};
  for (auto& visits : visits_)
    visits.clear();
  locked_.clear();
  outcome_.clear();
  result_.steps.clear();
  thread_ = 0;
  is_over_ = is_redundant_ = false;
  const auto call = [](auto function) {
    const int depth = std::exchange(g_depth, 0);
    function();
    g_depth = depth;
  };
  call([this] { state_ = scenario_.begin(); });
  is_starting_ = true;
  for (int i = 1; i <= scenario_.num_threads; ++i) {
    Context& context = contexts_[static_cast<size_t>(i)];
    context.is_done = context.is_blocked = false;
    context.thread_locals = thread_locals_;
    getcontext(&context.context);
    context.context.uc_stack.ss_sp = context.stack.get();
    context.context.uc_stack.ss_size = kStackSize;
    context.context.uc_link = nullptr;
    makecontext(&context.context, &Checker::RunThread, 0);
    memory_.Fork(i);
    SwitchTo(i);
  }
  is_starting_ = false;
  thread_ = 0;
  if (!is_over_) {
    Context& main_context = contexts_[0];
    main_context.is_done = true;
    SwitchToNext();
  }
  if (is_redundant_ || !result_.failure.empty())
    return;
  const bool is_cut = std::any_of(
      contexts_.begin() + 1, contexts_.begin() + 1 + scenario_.num_threads,
      [](const Context& context) { return context.is_blocked; });
  if (is_cut) {
    ++result_.cut;
    return;
  }
  const bool all_done = std::all_of(
      contexts_.begin() + 1, contexts_.begin() + 1 + scenario_.num_threads,
      [](const Context& context) { return context.is_done; });
  if (!all_done) {
    result_.failure = "deadlock";
    return;
  }
  thread_ = 0;
  memory_.JoinAll();
  call([this] { scenario_.end(state_); });
  outcomes_.insert(outcome_);
}

void Checker::Leave() {
  SwitchTo(0);
}

void Checker::SwitchTo(int next) {
  if (next == thread_)
    return;
  Context& from = contexts_[static_cast<size_t>(thread_)];
  Context& to = contexts_[static_cast<size_t>(next)];
  from.thread_locals = Save(ThreadLocals());
  Restore(ThreadLocals(), to.thread_locals);
  thread_ = next;
  const int depth = g_depth;
  swapcontext(&from.context, &to.context);
  g_depth = depth;
}

void Checker::SwitchToNext() {
  uint32_t enabled = 0;
  for (size_t i = 1; i <= static_cast<size_t>(scenario_.num_threads); ++i) {
    const bool waits = pending_[i].kind == Step::kLock &&
                       locked_.count(pending_[i].address) != 0;
    if (!contexts_[i].is_done && !contexts_[i].is_blocked && !waits)
      enabled |= 1u << i;
  }
  int next = 0;
  if (enabled != 0 && !is_over_) {
    next = exploration_.PickThread(pending_, enabled, thread_);
    if (next < 0) {
      is_redundant_ = true;
      next = 0;
    }
  }
  SwitchTo(next);
}

Step Checker::BeginStep(Step::Kind kind,
                        uintptr_t address,
                        size_t size,
                        int order) {
  return {kind, order == static_cast<int>(std::memory_order_seq_cst), address,
          size};
}

void Checker::Wait(uintptr_t pc, const Step& step) {
  memory_.EndSharedWrite(thread_);
  if (thread_ == 0)
    return;
  const size_t own = static_cast<size_t>(thread_);
  pending_[own] = step;
  if (pc != 0 && ++visits_[own][{pc, step.address}] > scenario_.max_visits)
    return Block();
  if (is_starting_)
    Leave();
  else
    SwitchToNext();
}

void Checker::Block() {
  if (thread_ == 0)
    return Fail("thread 0 waits");
  contexts_[static_cast<size_t>(thread_)].is_blocked = true;
  if (is_starting_)
    Leave();
  SwitchToNext();
}

void Checker::Fail(const char* text) {
  if (result_.failure.empty())
    result_.failure = text;
  // The execution goes on to its end if thread 0 has failed: nothing can stop
  // it.
  is_over_ = true;
  Leave();
}

void Checker::Observe(const std::string& outcome) {
  outcome_ += outcome;
}

void Checker::Note(const char* operation,
                   uintptr_t pc,
                   uintptr_t address,
                   uint64_t value,
                   const char* error) {
  if (result_.steps.size() < kMaxStepsKept) {
    char text[160];
    snprintf(text, sizeof(text), "thread %d: %s of 0x%zx: 0x%zx, at 0x%zx",
             thread_, operation, address - reinterpret_cast<uintptr_t>(g_arena),
             static_cast<size_t>(value), pc);
    result_.steps.push_back(text);
  }
  if (error != nullptr)
    Fail(error);
}

int Checker::OrderAt(uintptr_t pc,
                     const char* operation,
                     int order,
                     int failure_order,
                     bool wants_failure_order) {
  sites_.insert({pc, {pc, operation, order, failure_order}});
  for (const Weakening& weakening : weakenings_) {
    if (weakening.pc == pc && weakening.is_failure_order == wants_failure_order)
      return weakening.order;
  }
  return wants_failure_order ? failure_order : order;
}

void Checker::OnRead(uintptr_t address, size_t size) {
  if (!memory_.Contains(address))
    return;
  memory_.EndSharedWrite(thread_);
  if (const char* const error = memory_.Read(thread_, address, size))
    Note("plain read", 0, address, 0, error);
}

void Checker::OnWrite(uintptr_t address, size_t size) {
  if (!memory_.Contains(address))
    return;
  memory_.EndSharedWrite(thread_);
  const bool is_shared = memory_.HasShared(address, size);
  if (is_shared)
    Wait(0, {Step::kStore, false, address, size});
  if (const char* const error = memory_.Write(thread_, address, size))
    Note("plain write", 0, address, 0, error);
  if (is_shared) {
    memory_.BeginSharedWrite(thread_, address, size);
    Note("shared write", 0, address, 0, nullptr);
  }
}

uint64_t Checker::OnLoad(uintptr_t pc,
                         uintptr_t address,
                         size_t size,
                         int order) {
  const int weak_order = OrderAt(pc, "load", order, -1, false);
  uint64_t value = 0;
  const auto memory_order = static_cast<std::memory_order>(weak_order);
  if (memory_.IsBytes(address)) {
    memory_.EndSharedWrite(thread_);
    if (memory_.HasShared(address, size))
      Wait(0, BeginStep(Step::kLoad, address, size, weak_order));
    const char* const error =
        memory_.LoadBytes(thread_, address, size, memory_order, &value);
    if (error != nullptr || memory_.HasShared(address, size))
      Note("load of bytes", pc, address, value, error);
    return value;
  }
  Wait(pc, BeginStep(Step::kLoad, address, size, weak_order));
  const char* const error =
      memory_.Load(thread_, address, size, memory_order, &value);
  Note("load", pc, address, value, error);
  return value;
}

void Checker::OnStore(uintptr_t pc,
                      uintptr_t address,
                      size_t size,
                      int order,
                      uint64_t value) {
  const int weak_order = OrderAt(pc, "store", order, -1, false);
  Wait(pc, BeginStep(Step::kStore, address, size, weak_order));
  const char* const error =
      memory_.Store(thread_, address, size,
                    static_cast<std::memory_order>(weak_order), value);
  Note("store", pc, address, value, error);
}

void Checker::OnFence(uintptr_t pc, int order) {
  const int weak_order = OrderAt(pc, "fence", order, -1, false);
  if (weak_order == static_cast<int>(std::memory_order_seq_cst))
    Wait(0, {Step::kLoad, true, 0, 0});
  else
    memory_.EndSharedWrite(thread_);
  memory_.Fence(thread_, static_cast<std::memory_order>(weak_order));
  Note("fence", pc, 0, static_cast<uint64_t>(weak_order), nullptr);
}

void Checker::OnLock(uintptr_t address) {
  Wait(0, {Step::kLock, false, address, 1});
  locked_.insert(address);
  memory_.Lock(thread_, address);
}

bool Checker::OnTryLock(uintptr_t address) {
  Wait(0, {Step::kStore, false, address, 1});
  if (!locked_.insert(address).second)
    return false;
  memory_.Lock(thread_, address);
  return true;
}

void Checker::OnUnlock(uintptr_t address) {
  Wait(0, {Step::kStore, false, address, 1});
  locked_.erase(address);
  memory_.Unlock(thread_, address);
}

void Checker::OnBarrier() {
  Wait(0, {Step::kBarrier, true, 0, 0});
  memory_.BarrierOnAll(scenario_.num_threads);
}

void Check(bool ok, const char* text) {
  Checker* const checker = Checker::Current();
  const Checker::AtWork at_work;
  if (!ok)
    checker->Fail(text);
}

void Assume(bool ok) {
  Checker* const checker = Checker::Current();
  const Checker::AtWork at_work;
  if (!ok)
    checker->Block();
}

void Observe(const std::string& outcome) {
  Checker* const checker = Checker::Current();
  const Checker::AtWork at_work;
  checker->Observe(outcome);
}

void DeclareBytes(const void* begin, size_t size, bool may_race) {
  Checker* const checker = Checker::Current();
  const Checker::AtWork at_work;
  checker->DeclareBytes(reinterpret_cast<uintptr_t>(begin), size, may_race);
}

bool ProcessBarrier() {
  Checker* const checker = Checker::Current();
  const Checker::AtWork at_work;
  checker->OnBarrier();
  return true;
}

Result Explore(const Scenario& scenario,
               const std::vector<Weakening>& weakenings) {
  return Checker(scenario, weakenings).Run();
}

}  // namespace protozero::weak
