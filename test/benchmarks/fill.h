// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The workloads, for every implementation with the generated API of protobuf:
// the setters of this library and of libprotobuf have the same names, and the
// speed-of-light writer imitates them. One function per workload is all the
// code that they are compared by.

#ifndef TEST_BENCHMARKS_FILL_H_
#define TEST_BENCHMARKS_FILL_H_

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/event.h"

namespace protozero {
namespace bench {

// The one difference in the API: libprotobuf calls it mutable_field_nested().
// Overload resolution takes the first of these that compiles.
template <typename Message>
auto BeginNested(Message* parent, int)
    -> decltype(parent->mutable_field_nested()) {
  return parent->mutable_field_nested();
}
template <typename Message>
auto BeginNested(Message* parent, long)
    -> decltype(parent->set_field_nested()) {
  return parent->set_field_nested();
}

struct SimpleWorkload {
  static constexpr const char* kName = "Simple";

  template <typename Message>
  static void Fill(Message* message, const Event* event) {
    message->set_field_int32(event->number_int32);
    message->set_field_uint32(event->number_uint32);
    message->set_field_int64(event->number_int64);
    message->set_field_uint64(event->number_uint64);
    message->set_field_string(event->string, event->string_size);
  }
};

// Straight-line code, a call site per level, as instrumentation has it.
struct NestedWorkload {
  static constexpr const char* kName = "Nested";

  template <typename Message>
  static void Fill(Message* message, const Event* events) {
    static_assert(kNestedDepth == 4, "one call per level");
    SimpleWorkload::Fill(message, &events[0]);
    auto* level1 = BeginNested(message, 0);
    SimpleWorkload::Fill(level1, &events[1]);
    auto* level2 = BeginNested(level1, 0);
    SimpleWorkload::Fill(level2, &events[2]);
    auto* level3 = BeginNested(level2, 0);
    SimpleWorkload::Fill(level3, &events[3]);
  }
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_FILL_H_
