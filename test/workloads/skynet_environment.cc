// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace protozero::workloads {

namespace {

constexpr char kBindNow[] = "LD_BIND_NOW";
constexpr char kPreload[] = "LD_PRELOAD";

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

void EnsureFiberEnvironment(char** argv, const std::string& preload) {
  const bool has_preload = preload.empty() || Variable(kPreload) == preload;
  if (!Variable(kBindNow).empty() && has_preload)
    return;
  setenv(kBindNow, "1", 1);
  if (!has_preload)
    setenv(kPreload, preload.c_str(), 1);
  execv("/proc/self/exe", argv);
  perror("/proc/self/exe");
  exit(1);
}

}  // namespace protozero::workloads
