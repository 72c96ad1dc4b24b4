// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_ADAPTERS_RECORDED_STEPS_H_
#define TEST_TRACING_ADAPTERS_RECORDED_STEPS_H_

#include <memory>
#include <string>
#include <vector>

#include "protozero/tracing/local_trace.h"

namespace protozero::test {

// Records the steps of tasks from its construction on.
class StepRecording {
 public:
  StepRecording();

  // Ends the recording. Returns the steps in order of time, as texts. Tasks are
  // numbered from 1 in the order of their first steps; 0 is none:
  //
  //   spawn 1 site            run 1
  //   wake 1                  run 2, 1 waits: site
  //   end 1: destroyed        run 0, 1 ends: done
  // If |has_lines|, a site is "site:7", with its line.
  std::vector<std::string> Finish(bool has_lines = false);

 private:
  std::string bytes_;
  std::unique_ptr<LocalTrace> trace_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_ADAPTERS_RECORDED_STEPS_H_
