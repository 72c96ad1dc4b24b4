// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_CLAIMS_SCENARIOS_H_
#define TEST_CLAIMS_SCENARIOS_H_

#include <memory>
#include <vector>

#include "test/claims/claims.pbzero.h"

// The code that is claimed to make no allocation and no system call.

namespace protozero::test {

// Calls every setter of |message| once, and begins and ends nested messages.
void SetEverything(claims::pbzero::Everything* message);

// Calls every setter on |depth| nested levels, from the outermost one inwards.
void SetEverythingNested(claims::pbzero::Everything* message, int depth);

class Scenario {
 public:
  virtual ~Scenario();
  virtual const char* name() const = 0;
  // Writes messages, from their construction to their end. May be repeated.
  virtual void Run() = 0;
};

// Returns all ways to write messages. Allocates their memory.
std::vector<std::unique_ptr<Scenario>> MakeScenarios();

}  // namespace protozero::test

#endif  // TEST_CLAIMS_SCENARIOS_H_
