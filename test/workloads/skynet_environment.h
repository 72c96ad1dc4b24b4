// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_ENVIRONMENT_H_
#define TEST_WORKLOADS_SKYNET_ENVIRONMENT_H_

#include <string>

namespace protozero::workloads {

// Starts the program again, with the same arguments, if its environment is not
// the one that fibers need:
// - |preload|, if it is not empty, as LD_PRELOAD;
// - all functions of libraries found before main(). If a function is found in
//   its first call, all of the processor's registers are saved on the stack.
//   That can be eleven kilobytes, and a fiber has eight.
// REQUIRES: main() calls this first.
void EnsureFiberEnvironment(char** argv, const std::string& preload);

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_ENVIRONMENT_H_
