// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/simulated_system.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>

#include <algorithm>
#include <utility>

#include "test/testing/sanitizers.h"

#if PROTOZERO_TEST_HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace protozero::test {

namespace {

constexpr size_t kStackSize = 256 * 1024;

SimulatedSystem* g_system = nullptr;

// Memory that no thread uses as a stack any more. It is kept for the next run:
// new pages would take most of the time.
std::vector<std::unique_ptr<char[]>>& UnusedStacks() {
  static auto* const stacks = new std::vector<std::unique_ptr<char[]>>;
  return *stacks;
}

}  // namespace

struct SimulatedSystem::Fiber {
  Process* process = nullptr;
  std::function<void()> body;
  std::unique_ptr<char[]> stack;
  bool has_ended = false;
  int64_t wake_ns = 0;
  ucontext_t context;
  // The stack, as AddressSanitizer knows it.
  const void* stack_bottom = nullptr;
  size_t stack_size = 0;
  void* fake_stack = nullptr;
};

SimulatedSystem::SimulatedSystem(uint64_t seed, bool prints_history)
    : state_(seed * 0x9e3779b97f4a7c15 + 1),
      prints_history_(prints_history),
      main_(new Fiber) {
  g_system = this;
  Set(this);
}

SimulatedSystem::~SimulatedSystem() {
  Set(nullptr);
  g_system = nullptr;
}

uint64_t SimulatedSystem::Random() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_ * 0x2545f4914f6cdd1d >> 16;
}

void SimulatedSystem::Note(const char* format, ...) {
  char line[256];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  for (const char* c = line; *c != '\0'; ++c)
    digest_ = (digest_ ^ static_cast<uint8_t>(*c)) * 0x100000001b3;
  digest_ = (digest_ ^ static_cast<uint64_t>(now_ns_)) * 0x100000001b3;
  if (!prints_history_)
    return;
  printf("%10.3f ms %-12s %s\n", static_cast<double>(now_ns_) / 1e6 - 1000,
         current_ == nullptr ? "recorder" : current_->process->name.c_str(),
         line);
}

SimulatedSystem::Process* SimulatedSystem::AddProcess(const std::string& name) {
  processes_.push_back(std::make_unique<Process>());
  Process* const process = processes_.back().get();
  process->uid = 100 + static_cast<uid_t>(processes_.size());
  process->pid = 1000 + static_cast<pid_t>(processes_.size());
  process->name = name + std::to_string(process->pid);
  return process;
}

void SimulatedSystem::StartThread(Process* process,
                                  std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->process = process;
  fiber->body = std::move(body);
  auto& unused = UnusedStacks();
  if (unused.empty()) {
    fiber->stack.reset(new char[kStackSize]);
  } else {
    fiber->stack = std::move(unused.back());
    unused.pop_back();
  }
  fiber->stack_bottom = fiber->stack.get();
  fiber->stack_size = kStackSize;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStackSize;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, &RunFiber, 0);
  fibers_.push_back(std::move(fiber));
}

void SimulatedSystem::RunFiber() {
  SimulatedSystem* const system = g_system;
  Fiber* const fiber = system->current_;
#if PROTOZERO_TEST_HAS_ASAN
  Fiber* const main = system->main_.get();
  __sanitizer_finish_switch_fiber(nullptr, &main->stack_bottom,
                                  &main->stack_size);
#endif
  fiber->body();
  fiber->body = nullptr;
  fiber->has_ended = true;
  Switch(fiber, system->main_.get());
}

void SimulatedSystem::Switch(Fiber* from, Fiber* to) {
#if PROTOZERO_TEST_HAS_ASAN
  __sanitizer_start_switch_fiber(from->has_ended ? nullptr : &from->fake_stack,
                                 to->stack_bottom, to->stack_size);
#endif
  swapcontext(&from->context, &to->context);
#if PROTOZERO_TEST_HAS_ASAN
  __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}

bool SimulatedSystem::RunThread(size_t index) {
  Fiber* const fiber = fibers_[index].get();
  if (fiber->wake_ns > now_ns_ && !fiber->process->is_dead)
    return false;
  current_ = fiber;
  Switch(main_.get(), fiber);
  current_ = nullptr;
  if (fiber->has_ended) {
    UnusedStacks().push_back(std::move(fiber->stack));
    fibers_.erase(fibers_.begin() + static_cast<ptrdiff_t>(index));
  }
  return true;
}

void SimulatedSystem::RunSomeThread() {
  // A few attempts find one that is awake.
  for (int i = 0; i < 4 && !fibers_.empty(); ++i) {
    if (RunThread(Below(fibers_.size())))
      return;
  }
}

void SimulatedSystem::RunAllThreads() {
  // A thread that ends leaves the list.
  for (size_t i = fibers_.size(); i > 0; --i)
    RunThread(i - 1);
}

bool SimulatedSystem::IsRunning(const Process* process) const {
  return std::any_of(fibers_.begin(), fibers_.end(), [&](const auto& fiber) {
    return fiber->process == process;
  });
}

void SimulatedSystem::Yield() {
  if (current_ != nullptr)
    Switch(current_, main_.get());
}

void SimulatedSystem::SleepUntil(int64_t time_ns) {
  if (current_ == nullptr || is_ghost())
    return;
  current_->wake_ns = time_ns;
  Yield();
  current_->wake_ns = 0;
}

SimulatedSystem::Process* SimulatedSystem::current_process() const {
  return current_ == nullptr ? nullptr : current_->process;
}

bool SimulatedSystem::is_ghost() const {
  return current_ != nullptr && current_->process->is_dead;
}

void SimulatedSystem::Kill(Process* process) {
  if (process->is_dead)
    return;
  Note("%s dies", process->name.c_str());
  process->is_dead = true;
  for (const Process::Mapping& mapping : process->mappings) {
    const std::string copy(static_cast<const char*>(mapping.address),
                           mapping.size);
    if (mmap(mapping.address, mapping.size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      abort();
    }
    memcpy(mapping.address, copy.data(), copy.size());
  }
  for (const int fd : process->sockets)
    shutdown(fd, SHUT_RDWR);
  if (process->on_death != nullptr)
    process->on_death();
}

void SimulatedSystem::MayDie() {
  if (!is_calm_ && current_process()->is_doomed && OneIn(32))
    Kill(current_process());
}

int SimulatedSystem::Connect(int fd, const sockaddr* address, socklen_t size) {
  if (is_ghost()) {
    errno = ECONNREFUSED;
    return -1;
  }
  const int result = RealConnect(fd, address, size);
  if (result == 0 && current_ != nullptr) {
    Note("connects");
    connecting_.push_back(current_process());
    current_process()->sockets.push_back(fd);
  }
  return result;
}

bool SimulatedSystem::GetPeer(uid_t* uid, pid_t* pid) {
  if (connecting_.empty())
    return false;
  *uid = connecting_.front()->uid;
  *pid = connecting_.front()->pid;
  Note("accepts %s", connecting_.front()->name.c_str());
  connecting_.pop_front();
  return true;
}

int SimulatedSystem::Poll(pollfd* fds, nfds_t count, int timeout_ms) {
  const int64_t deadline =
      timeout_ms < 0 ? INT64_MAX : now_ns_ + timeout_ms * int64_t{1000000};
  for (;;) {
    if (is_ghost()) {
      for (nfds_t i = 0; i < count; ++i)
        fds[i].revents = fds[i].fd >= 0 ? POLLIN | POLLHUP : 0;
      return static_cast<int>(count);
    }
    int ready = RealPoll(fds, count, 0);
    // A process may see later what is ready: other messages are faster.
    for (nfds_t i = 0; i < count && !is_calm_; ++i) {
      if (fds[i].revents != 0 && OneIn(4)) {
        fds[i].revents = 0;
        --ready;
      }
    }
    if (ready != 0 || current_ == nullptr || now_ns_ >= deadline)
      return ready;
    Yield();
  }
}

ssize_t SimulatedSystem::Receive(int fd, msghdr* message, int flags) {
  if (is_ghost())
    return 0;
  if (!is_calm_ && OneIn(8)) {
    errno = EAGAIN;
    return -1;
  }
  iovec* const io = message->msg_iov;
  if (!is_calm_ && OneIn(2))
    io->iov_len = std::min<size_t>(io->iov_len, 1 + Below(OneIn(2) ? 8 : 200));
  return RealReceive(fd, message, flags);
}

ssize_t SimulatedSystem::Send(int fd, const msghdr* message, int flags) {
  if (current_ != nullptr && current_->process->waits_to_send)
    Yield();
  if (is_ghost()) {
    errno = EPIPE;
    return -1;
  }
  if (!is_calm_ && OneIn(8)) {
    errno = EAGAIN;
    return -1;
  }
  iovec io = *message->msg_iov;
  msghdr part = *message;
  part.msg_iov = &io;
  if (!is_calm_ && OneIn(2))
    io.iov_len = std::min<size_t>(io.iov_len, 1 + Below(OneIn(2) ? 8 : 200));
  const ssize_t sent = RealSend(fd, &part, flags);
  if (current_ != nullptr)
    MayDie();
  return sent;
}

ssize_t SimulatedSystem::Write(int fd, const void* data, size_t size) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return RealWrite(fd, data, size);
  if (disk_room_ == 0) {
    errno = ENOSPC;
    return -1;
  }
  if (!is_calm_ && OneIn(8)) {
    errno = EAGAIN;
    return -1;
  }
  if (!is_calm_ && OneIn(2))
    size = std::min<size_t>(size, 1 + Below(200));
  size = static_cast<size_t>(std::min<uint64_t>(size, disk_room_));
  disk_room_ -= size;
  return RealWrite(fd, data, size);
}

void SimulatedSystem::OnMapped(void* address, size_t size) {
  if (current_ != nullptr && !is_ghost())
    current_process()->mappings.push_back({address, size});
}

void SimulatedSystem::OnUnmapped(void* address) {
  for (const std::unique_ptr<Process>& process : processes_) {
    auto& mappings = process->mappings;
    mappings.erase(std::remove_if(mappings.begin(), mappings.end(),
                                  [&](const Process::Mapping& mapping) {
                                    return mapping.address == address;
                                  }),
                   mappings.end());
  }
}

void SimulatedSystem::OnClosed(int fd) {
  for (const std::unique_ptr<Process>& process : processes_) {
    auto& sockets = process->sockets;
    sockets.erase(std::remove(sockets.begin(), sockets.end(), fd),
                  sockets.end());
  }
}

void SimulatedSystem::Sleep(int64_t ns) {
  if (current_ != nullptr && !is_ghost()) {
    MayDie();
    SleepUntil(now_ns_ + ns);
  }
}

int64_t SimulatedSystem::ClockNs() {
  if (!is_ghost())
    return now_ns_;
  current_process()->ghost_ns += 1000000;
  return now_ns_ + current_process()->ghost_ns;
}

}  // namespace protozero::test
