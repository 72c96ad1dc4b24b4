// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Runs a program that cannot have the kernel's events, as in a container:
//
//   without_perf ERRNO PROGRAM [ARGUMENT...]
//
// Exit code: 77 if this system has no such sandbox, otherwise the program's.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  const auto error = static_cast<unsigned>(atoi(argv[1]));
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_perf_event_open},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("without_perf");
    return 77;
  }
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
