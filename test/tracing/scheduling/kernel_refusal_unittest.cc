// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_refusal.h"

#include <errno.h>

#include <string>

#include "gtest/gtest.h"

namespace protozero {
namespace internal {
namespace {

bool Says(const KernelRefusal& refusal, const char* part) {
  return RefusalText(refusal).find(part) != std::string::npos;
}

TEST(KernelRefusalTest, EachReasonHasItsRemedy) {
  KernelRefusal refusal;
  refusal.error = EACCES;
  refusal.paranoid = 4;
  refusal.pid = 12;
  EXPECT_TRUE(Says(refusal, "paranoid is 4"));
  EXPECT_TRUE(Says(refusal, "`sudo sysctl kernel.perf_event_paranoid=2`"));
  refusal.paranoid = 2;
  EXPECT_TRUE(Says(refusal, "process 12 is not dumpable"));
  refusal.own_user = 1000;
  refusal.other_user = 1001;
  EXPECT_TRUE(Says(refusal, "`sudo -u '#1001' pztrace record ...`"));
  refusal.pid = 0;
  EXPECT_TRUE(Says(refusal, "security module"));
  refusal.is_in_container = true;
  EXPECT_TRUE(Says(refusal, "--cap-add PERFMON"));
  for (const int error : {EPERM, ENOSYS}) {
    refusal.error = error;
    refusal.is_in_container = false;
    EXPECT_TRUE(Says(refusal, "a filter of system calls"));
  }
  refusal.error = EMFILE;
  EXPECT_TRUE(Says(refusal, "ulimit -n"));
  refusal.pid = 12;
  EXPECT_TRUE(Says(refusal, "ulimit -Hn"));
  refusal.error = ENOMEM;
  EXPECT_TRUE(Says(refusal, "ulimit -l"));
  refusal.error = EBADF;
  EXPECT_TRUE(Says(refusal, "perf_event_open: "));
}

}  // namespace
}  // namespace internal
}  // namespace protozero
