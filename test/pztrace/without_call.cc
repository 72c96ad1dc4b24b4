// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Runs a program for which a system call fails, as in a sandbox that does not
// know it, or a container that forbids it:
//
//   without_call memfd_create|perf_event_open ERRNO PROGRAM [ARGUMENT...]
//
// Exit code: 77 if this system has no such sandbox, otherwise the program's.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 4)
    return 2;
  const bool is_memfd = strcmp(argv[1], "memfd_create") == 0;
  if (!is_memfd && strcmp(argv[1], "perf_event_open") != 0)
    return 2;
  const unsigned call = is_memfd ? __NR_memfd_create : __NR_perf_event_open;
  const auto error = static_cast<unsigned>(atoi(argv[2]));
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_call");
    return 77;
  }
  execv(argv[3], argv + 3);
  perror(argv[3]);
  return 1;
}
