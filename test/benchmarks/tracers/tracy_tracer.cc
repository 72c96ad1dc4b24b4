// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include "test/benchmarks/tracers/tracer.h"
#include "test/benchmarks/tracers/tracy_reader.h"
#include "tracy/Tracy.hpp"

namespace {

TracyReader& Reader() {
  static TracyReader reader;
  return reader;
}
// At the beginning of the recording.
uint64_t g_bytes;

#if defined(TRACY_ON_DEMAND)
constexpr bool kIsOnDemand = true;
#else
constexpr bool kIsOnDemand = false;
#endif

// A client takes several readers one after another only if it records on
// demand.
void Start() {
  if (!Reader().is_attached())
    Reader().Attach();
  g_bytes = Reader().bytes();
}

// The client looks for events every ten milliseconds.
void Settle() {
  uint64_t bytes;
  do {
    bytes = Reader().bytes();
    usleep(50000);
  } while (Reader().bytes() != bytes);
}

Tracer::Outcome Stop() {
  Settle();
  Tracer::Outcome outcome;
  outcome.bytes = Reader().bytes() - g_bytes;
  if (kIsOnDemand)
    Reader().Detach();
  return outcome;
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    TracyMessageL("instant");
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    ZoneScopedN("slice");
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    ZoneScopedN("slice 1");
    ZoneValue(static_cast<uint64_t>(i));
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    ZoneScopedN("slice 3");
    ZoneValue(static_cast<uint64_t>(i));
    ZoneValue(static_cast<uint64_t>(i + 1));
    ZoneValue(static_cast<uint64_t>(i + 2));
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    ZoneScopedN("slice string");
    ZoneText(kTracedText, sizeof(kTracedText) - 1);
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i)
    TracyPlot("counter", static_cast<int64_t>(i));
}

const Tracer kWithReader = {
    kIsOnDemand ? "Tracy, on demand" : "Tracy",
    kIsOnDemand ? "client 0.14.1 that records while a reader is attached"
                : "client 0.14.1, a reader attached, which discards",
    &Start,
    &Stop,
    &Settle,
    nullptr,
    [] { return Reader().processor_seconds(); },
    kIsOnDemand,
    &Instant,
    nullptr,
    &Slice,
    &SliceWith1,
    &SliceWith3,
    &SliceWithString,
    &Counter,
};

#if !defined(TRACY_ON_DEMAND)
void Nothing() {}

const Tracer kWithoutReader = {
    "Tracy, no reader",
    "client 0.14.1, whose queues grow without end",
    &Nothing,
    [] { return Tracer::Outcome(); },
    &Nothing,
    nullptr,
    nullptr,
    false,
    &Instant,
    nullptr,
    &Slice,
    &SliceWith1,
    &SliceWith3,
    &SliceWithString,
    &Counter,
};
#endif

}  // namespace

const Tracer* const kPeers[] = {&kWithReader,
#if !defined(TRACY_ON_DEMAND)
                                &kWithoutReader,
#endif
                                nullptr};
