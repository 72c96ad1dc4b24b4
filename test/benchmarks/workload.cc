// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/workload.h"

#include <utility>

#include "test/benchmarks/event.h"
#include "test/benchmarks/inputs.h"
#include "test/benchmarks/output_ring.h"

namespace protozero {
namespace bench {

namespace {

constexpr size_t kL1Size = 64 * kSlotSize;

constexpr size_t kSmallestSize = 16;
constexpr size_t kLargestSize = 16 * 1024 * 1024;
constexpr size_t kSizeStep = 4;

std::unique_ptr<AnyInputCycle> MakeEvents(bool random) {
  return std::make_unique<EventCycle>(random ? kRandomCycleSize : 1);
}

// Makes a workload with one kind of inputs.
template <typename Make>
Workload MakeWorkload(const char* name, size_t slot_size, Make make) {
  return {name, "", slot_size, [make](bool) { return make(); }, {&kL1Harness}};
}

// Makes a workload that has a performance aim.
Workload MakeEventWorkload(const char* name) {
  return {name,
          "",
          kSlotSize,
          MakeEvents,
          {&kRingHarness, &kL1Harness, &kL1RandomHarness}};
}

void MeasureColdToo(Workload* workload) {
  workload->harnesses.push_back(&kColdHarness);
  workload->harnesses.push_back(&kColdL2Harness);
}

}  // namespace

const Harness kRingHarness = {"", 64 * 1024 * 1024, false, true, CodeIn::kL1};
const Harness kL1Harness = {"_L1", kL1Size, false, false, CodeIn::kL1};
const Harness kL1RandomHarness = {"_L1Random", kL1Size, true, false,
                                  CodeIn::kL1};
const Harness kColdHarness = {"_Cold", kL1Size, true, false, CodeIn::kL2};
const Harness kColdL2Harness = {"_ColdL2", kL1Size, true, false,
                                CodeIn::kBeyond};
const Harness kSizeHarness = {"", kL1Size, false, false, CodeIn::kL1};

std::vector<Workload> AllWorkloads(
    const std::shared_ptr<const TraceCorpus>& corpus) {
  constexpr size_t kLarge = 16 * 1024;
  std::vector<Workload> workloads = {
      MakeEventWorkload("Simple"),
      MakeEventWorkload("Nested"),
      MakeEventWorkload("Helpers"),
      MakeWorkload("RandomVarints", kSlotSize, MakeRandomVarints),
      MakeWorkload("Timestamps", kSlotSize, MakeTimestamps),
      MakeWorkload("RandomBytes", kSlotSize, MakeRandomBytes),
      MakeWorkload("ThirtyFields", kSlotSize, MakeThirtyFields),
      MakeWorkload("Children", kLarge, MakeChildren),
      MakeWorkload("PackedVarints", kLarge, MakePacked),
      MakeWorkload("PackedFixed64", kLarge, MakePacked),
      MakeWorkload("Deep", 2 * kSlotSize, MakeDeep),
      MakeWorkload("Chunks", kLarge, MakeRecords),
  };
  MeasureColdToo(&workloads.front());
  if (corpus) {
    size_t slot_size = kSlotSize;
    // Sizes may take more bytes than they need.
    while (slot_size < 2 * corpus->largest_packet)
      slot_size *= 2;
    workloads.push_back(MakeWorkload("MixedCorpus", slot_size, [corpus] {
      return MakeTracePackets(corpus);
    }));
    MeasureColdToo(&workloads.back());
  }
  for (size_t size = kSmallestSize; size <= kLargestSize; size *= kSizeStep) {
    const size_t slot_size = size < kSlotSize ? kSlotSize : 2 * size;
    workloads.push_back(
        {"Bytes",
         "/" + std::to_string(size),
         slot_size,
         [size](bool) { return MakeSizedChildren(size / kSizedChildSize); },
         {&kSizeHarness}});
  }
  for (size_t size : kReplySizes) {
    // Sizes may take more bytes than they need.
    size_t slot_size = kSlotSize;
    while (slot_size < 2 * size)
      slot_size *= 2;
    workloads.push_back({"String",
                         "/" + std::to_string(size),
                         slot_size,
                         [size](bool) { return MakeReply(size); },
                         {&kSizeHarness}});
  }
  return workloads;
}

}  // namespace bench
}  // namespace protozero
