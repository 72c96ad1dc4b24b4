// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/stack_walk.h"

#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace protozero {
namespace internal {
namespace {

constexpr uintptr_t kHere = 0x1234;

// A stack between pages that cannot be read.
class StackWalkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!StackWalk::IsPossible())
      GTEST_SKIP() << "not on this processor";
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    memory_ =
        mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    begin_ = reinterpret_cast<uintptr_t>(memory_) + page_;
    end_ = begin_ + 2 * page_;
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(begin_), 2 * page_,
                       PROT_READ | PROT_WRITE),
              0);
  }
  void TearDown() override {
    if (memory_ != nullptr)
      munmap(memory_, 4 * page_);
  }

  // Puts a caller's frame and address at |frame|.
  void Put(uintptr_t frame, uintptr_t caller, uintptr_t address) {
    auto* const words = reinterpret_cast<uintptr_t*>(frame);
    words[0] = caller;
    words[1] = address;
  }

  // Returns the addresses.
  std::vector<uintptr_t> Walk(uintptr_t frame, uintptr_t end) {
    ucontext_t context = {};
    auto& machine = context.uc_mcontext;
#if defined(__x86_64__)
    machine.gregs[REG_RIP] = kHere;
    machine.gregs[REG_RSP] = static_cast<greg_t>(begin_);
    machine.gregs[REG_RBP] = static_cast<greg_t>(frame);
#elif defined(__i386__)
    machine.gregs[REG_EIP] = kHere;
    machine.gregs[REG_ESP] = static_cast<greg_t>(begin_);
    machine.gregs[REG_EBP] = static_cast<greg_t>(frame);
#elif defined(__aarch64__)
    machine.pc = kHere;
    machine.sp = begin_;
    machine.regs[29] = frame;
#endif
    StackWalk walk(&context, end);
    std::vector<uintptr_t> addresses;
    while (const uintptr_t address = walk.Next())
      addresses.push_back(address);
    return addresses;
  }

  using Addresses = std::vector<uintptr_t>;
  static constexpr uintptr_t kWord = sizeof(uintptr_t);
  size_t page_ = 0;
  void* memory_ = nullptr;
  uintptr_t begin_ = 0;
  uintptr_t end_ = 0;
};

TEST_F(StackWalkTest, FollowsFramesToTheOutermost) {
  Put(begin_, begin_ + page_, 1);
  Put(begin_ + page_, end_ - 2 * kWord, 2);
  Put(end_ - 2 * kWord, 0, 3);
  EXPECT_EQ(Walk(begin_, end_), (Addresses{kHere, 1, 2, 3}));
}

TEST_F(StackWalkTest, AnyNumberInARegisterEndsTheStack) {
  for (const uintptr_t frame :
       {uintptr_t{0}, begin_ - kWord, begin_ + 1, end_ - kWord, end_,
        ~uintptr_t{0}, ~uintptr_t{0} - kWord + 1}) {
    EXPECT_EQ(Walk(frame, end_), Addresses{kHere}) << frame;
  }
}

TEST_F(StackWalkTest, FramesGoUp) {
  Put(begin_ + 4 * kWord, begin_ + 4 * kWord, 1);
  EXPECT_EQ(Walk(begin_ + 4 * kWord, end_), (Addresses{kHere, 1}));
  Put(begin_ + 4 * kWord, begin_ + 2 * kWord, 1);
  EXPECT_EQ(Walk(begin_ + 4 * kWord, end_), (Addresses{kHere, 1}));
}

TEST_F(StackWalkTest, PagesThatCannotBeReadEndTheStack) {
  // The stack's end is said to be beyond them.
  Put(begin_, end_ - kWord, 1);
  EXPECT_EQ(Walk(begin_, end_ + page_), (Addresses{kHere, 1}));
  Put(begin_, end_ + kWord, 1);
  EXPECT_EQ(Walk(begin_, end_ + page_), (Addresses{kHere, 1}));
}

TEST_F(StackWalkTest, RandomStacksAreReadWithinTheirEnd) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    for (uintptr_t at = begin_; at != end_; at += kWord) {
      *reinterpret_cast<uintptr_t*>(at) =
          begin_ - page_ + static_cast<uintptr_t>(random() % (4 * page_));
    }
    const uintptr_t frame = begin_ + kWord * (random() % (page_ / kWord));
    EXPECT_GE(Walk(frame, end_ + page_).size(), 1u);
  }
}

}  // namespace
}  // namespace internal
}  // namespace protozero
