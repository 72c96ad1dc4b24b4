// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_INPUT_CYCLE_H_
#define TEST_BENCHMARKS_INPUT_CYCLE_H_

#include <stddef.h>

#include <memory>
#include <utility>
#include <vector>

namespace protozero {
namespace bench {

// The inputs of a workload, for callers that need not know their type.
class AnyInputCycle {
 public:
  virtual ~AnyInputCycle() = default;

  // Returns the number of different inputs, a power of two.
  size_t size() const { return mask_ + 1; }

 protected:
  // REQUIRES: size is a power of two.
  explicit AnyInputCycle(size_t size) : mask_(size - 1) {}

  const size_t mask_;
};

// A cycle of inputs that is repeated for ever. The inputs point to shared data
// or to `storage`, which lives as long as the cycle.
template <typename T>
class InputCycle : public AnyInputCycle {
 public:
  // `inputs` may have more than `size` elements: a message that consumes
  // several consecutive inputs may begin with the last one of the cycle.
  InputCycle(std::vector<T> inputs,
             size_t size,
             std::shared_ptr<const void> storage = nullptr)
      : AnyInputCycle(size),
        storage_(std::move(storage)),
        inputs_(std::move(inputs)) {}

  const T* At(size_t index) const { return elements().At(index); }

  // A view of the inputs that a loop keeps by value; see OutputRing::Slots.
  class Elements {
   public:
    Elements(const T* begin, size_t mask) : begin_(begin), mask_(mask) {}
    const T* At(size_t index) const { return begin_ + (index & mask_); }

   private:
    const T* const begin_;
    const size_t mask_;
  };
  Elements elements() const { return {inputs_.data(), mask_}; }

 private:
  const std::shared_ptr<const void> storage_;
  const std::vector<T> inputs_;
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_INPUT_CYCLE_H_
