// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/model/weak/exploration.h"

#include <algorithm>

namespace protozero::weak {

bool Exploration::AreDependent(const Step& a, const Step& b) {
  if (a.kind == Step::kNone || b.kind == Step::kNone)
    return false;
  if (a.kind == Step::kBarrier || b.kind == Step::kBarrier)
    return true;
  if (a.is_sequentially_consistent && b.is_sequentially_consistent)
    return true;
  return (a.kind != Step::kLoad || b.kind != Step::kLoad) &&
         a.address < b.address + b.size && b.address < a.address + a.size;
}

void Exploration::BeginExecution() {
  position_ = 0;
  events_.clear();
  before_ = {};
  num_events_ = {};
  sleeping_ = 0;
}

void Exploration::AddAlternatives(const Step& step, int thread) {
  uint32_t seen = 0;
  for (size_t i = events_.size(); i-- > 0;) {
    const Event& event = events_[i];
    const uint32_t bit = 1u << event.thread;
    if (event.thread == thread || (seen & bit) != 0 ||
        !AreDependent(event.step, step)) {
      continue;
    }
    // The last dependent event of each thread; those before it come before it.
    seen |= bit;
    const size_t other = static_cast<size_t>(event.thread);
    if (event.before[other] < before_[static_cast<size_t>(thread)][other])
      continue;
    Node& node = path_[event.node];
    const uint32_t own_bit = 1u << thread;
    node.to_do |= (node.enabled & own_bit) != 0 ? own_bit : node.enabled;
  }
}

int Exploration::PickThread(const std::array<Step, kMaxThreads>& pending,
                            uint32_t enabled,
                            int current) {
  if (position_ == path_.size()) {
    const uint32_t awake = enabled & ~sleeping_;
    if (awake == 0)
      return -1;
    Node node;
    node.enabled = enabled;
    node.sleeping = sleeping_;
    node.chosen = (awake & 1u << current) != 0 ? current : __builtin_ctz(awake);
    node.to_do = 1u << node.chosen;
    path_.push_back(node);
  }
  const Node node = path_[position_];
  const int thread = node.chosen;
  const size_t own = static_cast<size_t>(thread);
  const Step& step = pending[own];
  AddAlternatives(step, thread);

  Event event{step, thread, position_++, before_[own]};
  for (const Event& earlier : events_) {
    if (earlier.thread != thread && !AreDependent(earlier.step, step))
      continue;
    for (size_t i = 0; i < kMaxThreads; ++i)
      event.before[i] = std::max(event.before[i], earlier.before[i]);
    const size_t other = static_cast<size_t>(earlier.thread);
    event.before[other] =
        std::max(event.before[other], earlier.before[other] + 1);
  }
  event.before[own] = num_events_[own]++;
  events_.push_back(event);
  before_[own] = event.before;
  before_[own][own] = num_events_[own];

  sleeping_ = 0;
  const uint32_t candidates = (node.sleeping | node.done) & ~(1u << thread);
  for (size_t i = 0; i < kMaxThreads; ++i) {
    if ((candidates & 1u << i) != 0 && !AreDependent(pending[i], step))
      sleeping_ |= 1u << i;
  }
  return thread;
}

int Exploration::PickResult(int count) {
  if (count == 1)
    return 0;
  if (position_ == path_.size()) {
    Node node;
    node.count = count;
    path_.push_back(node);
  }
  return path_[position_++].chosen;
}

bool Exploration::EndExecution(const std::array<Step, kMaxThreads>& pending) {
  for (size_t i = 0; i < kMaxThreads; ++i) {
    if (pending[i].kind != Step::kNone)
      AddAlternatives(pending[i], static_cast<int>(i));
  }
  for (; !path_.empty(); path_.pop_back()) {
    Node& node = path_.back();
    if (node.count != 0) {
      if (++node.chosen < node.count)
        return true;
      continue;
    }
    node.done |= 1u << node.chosen;
    const uint32_t left = node.to_do & ~node.done & ~node.sleeping;
    if (left != 0) {
      node.chosen = __builtin_ctz(left);
      return true;
    }
  }
  return false;
}

}  // namespace protozero::weak
