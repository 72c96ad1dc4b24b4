// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <memory>

#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The largest value with which users may look at their own threads.
constexpr int kOwnThreadsAllowed = 2;

int ReadParanoid() {
  struct CloseFile {
    void operator()(FILE* file) const { fclose(file); }
  };
  const std::unique_ptr<FILE, CloseFile> file(
      fopen("/proc/sys/kernel/perf_event_paranoid", "re"));
  int value = kOwnThreadsAllowed;
  if (file != nullptr && fscanf(file.get(), "%d", &value) != 1)
    value = kOwnThreadsAllowed;
  return value;
}

std::string WhyOtherProcess(const KernelRefusal& refusal) {
  const std::string pid = std::to_string(refusal.pid);
  if (refusal.own_user != refusal.other_user) {
    return "process " + pid + " belongs to user " +
           std::to_string(refusal.other_user) +
           "; record as that user: `sudo "
           "-u '#" +
           std::to_string(refusal.other_user) + "' pztrace record ...`";
  }
  return "process " + pid +
         " is not dumpable, since it has changed its user or runs a file that "
         "its user may not read; `prctl(PR_SET_DUMPABLE, 1)` in it allows it";
}

}  // namespace

std::string RefusalText(const KernelRefusal& refusal) {
  switch (refusal.error) {
    case EMFILE:
      return std::string(
                 "there are too few file descriptors: a thread needs ") +
             "one for each processor; `ulimit " +
             (refusal.pid == 0 ? "-n 65536` before it"
                               : "-Hn 65536` as root before it") +
             " allows more";
    case ENOMEM:
      return "there is too little memory that may be locked, perhaps because "
             "another recorder has it; `ulimit -l 8192` allows more";
    case EACCES:
    case EPERM:
    case ENOSYS:
      break;
    default:
      return std::string("perf_event_open: ") + strerror(refusal.error);
  }
  if (refusal.error == EACCES && refusal.paranoid > kOwnThreadsAllowed) {
    return "kernel.perf_event_paranoid is " + std::to_string(refusal.paranoid) +
           "; `sudo sysctl kernel.perf_event_paranoid=2` allows it";
  }
  if (refusal.error == EACCES && refusal.pid != 0)
    return WhyOtherProcess(refusal);
  if (refusal.is_in_container || refusal.error != EACCES) {
    return "this container, or a filter of system calls, forbids "
           "perf_event_open; for the recorder's container, `docker run "
           "--cap-add PERFMON` allows it";
  }
  return "the kernel's security module forbids perf_event_open";
}

std::string WhyRefused(int32_t pid, int error) {
  KernelRefusal refusal;
  refusal.error = error;
  refusal.pid = pid;
  refusal.paranoid = ReadParanoid();
  refusal.own_user = geteuid();
  if (pid != 0)
    refusal.other_user = UserOf(pid);
  refusal.is_in_container = access("/.dockerenv", F_OK) == 0 ||
                            access("/run/.containerenv", F_OK) == 0;
  return RefusalText(refusal);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
