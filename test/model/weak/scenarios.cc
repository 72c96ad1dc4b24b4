// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/model/weak/scenarios.h"

namespace protozero::weak {

std::vector<Scenario> LibraryScenarios() {
  std::vector<Scenario> scenarios;
  for (const auto& part : {ChunkScenarios(), RingScenarios(), WriterScenarios(),
                           TrackEventScenarios(), SessionScenarios()})
    scenarios.insert(scenarios.end(), part.begin(), part.end());
  return scenarios;
}

}  // namespace protozero::weak
