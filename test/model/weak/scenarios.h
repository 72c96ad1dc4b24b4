// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_MODEL_WEAK_SCENARIOS_H_
#define TEST_MODEL_WEAK_SCENARIOS_H_

#include <vector>

#include "test/model/weak/checker.h"

namespace protozero::weak {

// A failure that some litmus tests expect instead of outcomes.
inline constexpr const char* kDataRace = "data race between plain accesses";

// A scenario that shows what the checker can tell. |expected| has all outcomes,
// sorted, with spaces between them; or the failure.
struct LitmusTest {
  Scenario scenario;
  const char* expected;
};
std::vector<LitmusTest> LitmusTests();

// The scenarios of the library: all, and those of each file.
std::vector<Scenario> LibraryScenarios();
std::vector<Scenario> ChunkScenarios();
std::vector<Scenario> RingScenarios();
std::vector<Scenario> WriterScenarios();
std::vector<Scenario> TrackEventScenarios();
std::vector<Scenario> SessionScenarios();

}  // namespace protozero::weak

#endif  // TEST_MODEL_WEAK_SCENARIOS_H_
