// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/waking_tracepoint.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The number of CAP_PERFMON, which older headers lack.
constexpr unsigned kPerfmon = 38;
// The inode of the namespace in which the kernel counts threads. Tracepoints
// have these numbers.
constexpr ino_t kFirstPidNamespace = 0xeffffffc;

struct CloseTracepointFile {
  void operator()(FILE* file) const { fclose(file); }
};
using TracepointFile = std::unique_ptr<FILE, CloseTracepointFile>;

TracepointFile OpenTracepointFile(const std::string& path) {
  return TracepointFile(fopen(path.c_str(), "re"));
}

// Returns the offset of a field of four bytes, which has a line such as
//   field:pid_t pid; offset:24; size:4; signed:1;
std::optional<size_t> FindOffset(FILE* format, const char* field) {
  char line[256];
  while (fgets(line, sizeof(line), format) != nullptr) {
    const char* const place = strstr(line, field);
    const char* const offset = strstr(line, "offset:");
    if (place == nullptr || offset == nullptr || offset < place ||
        strstr(offset, "size:4;") == nullptr) {
      continue;
    }
    return strtoul(offset + strlen("offset:"), nullptr, 10);
  }
  return std::nullopt;
}

bool MaySeeTracepoints() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0)
    return false;
  return (data[CAP_SYS_ADMIN / 32].effective >> (CAP_SYS_ADMIN % 32) & 1) !=
             0 ||
         (data[kPerfmon / 32].effective >> (kPerfmon % 32) & 1) != 0;
}

}  // namespace

std::optional<WakingTracepoint> ReadWakingTracepoint(
    const std::string& folder) {
  const std::string files = folder + "/events/sched/sched_waking/";
  const TracepointFile id = OpenTracepointFile(files + "id");
  if (id == nullptr)
    return std::nullopt;
  const TracepointFile format = OpenTracepointFile(files + "format");
  if (format == nullptr)
    return std::nullopt;
  WakingTracepoint tracepoint;
  unsigned long number = 0;
  const std::optional<size_t> offset = FindOffset(format.get(), " pid;");
  if (fscanf(id.get(), "%lu", &number) != 1 || number == 0 || !offset) {
    errno = 0;
    return std::nullopt;
  }
  tracepoint.id = number;
  tracepoint.woken_offset = *offset;
  return tracepoint;
}

std::optional<WakingTracepoint> FindWakingTracepoint(std::string* problem) {
  problem->clear();
  if (!MaySeeTracepoints())
    return std::nullopt;
  struct stat self = {};
  if (stat("/proc/self/ns/pid", &self) == 0 &&
      self.st_ino != kFirstPidNamespace) {
    *problem =
        "this container numbers threads in its own way; `docker run --pid "
        "host` allows it";
    return std::nullopt;
  }
  bool is_forbidden = false;
  for (const char* const folder :
       {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    if (const auto tracepoint = ReadWakingTracepoint(folder))
      return tracepoint;
    is_forbidden = is_forbidden || errno == EACCES || errno == EPERM;
  }
  if (access("/sys/kernel/tracing/events", F_OK) == 0)
    *problem = "this kernel does not tell it";
  else if (is_forbidden)
    *problem =
        "/sys/kernel/tracing may not be read; `sudo mount -o "
        "remount,gid=$(id -g),mode=750 /sys/kernel/tracing` allows it";
  else
    *problem =
        "tracefs is not mounted; `sudo mount -t tracefs tracefs "
        "/sys/kernel/tracing` allows it";
  return std::nullopt;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
