// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The claim: a string or vector that gets no memory is no reason to end a
// program. A message that goes there is lost, and says so; the container is as
// it was before.

#include <stdint.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/config.h"
#include "protozero/message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/string_buffer.h"
#include "protozero/write_status.h"
#include "test/testing/failing_calls.h"
#include "test/testing/sanitizers.h"

namespace protozero {
namespace {

using test::CodeUnderTest;
using test::NthCallFails;

// Without exceptions, the operator that containers call cannot fail.
#if defined(__cpp_exceptions) && !PROTOZERO_TEST_HAS_TSAN
constexpr bool kAllocationsFail = true;
#else
constexpr bool kAllocationsFail = false;
#endif

class ContainerMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kAllocationsFail)
      GTEST_SKIP() << "allocations cannot be made to fail in this build";
  }

  // Calls |write()| with the first allocation failing, then the second, until
  // there are no more. |write| returns whether it succeeded. Returns how often
  // it failed.
  template <typename Write>
  static int FailEachAllocation(const Write& write) {
    for (int i = 1;; ++i) {
      NthCallFails fail(static_cast<uint64_t>(i),
                        NthCallFails::kAllocationsFromThenOn);
      const bool succeeded = write();
      fail.Stop();
      if (fail.count() < static_cast<uint64_t>(i)) {
        EXPECT_TRUE(succeeded);
        return i - 1;
      }
      EXPECT_FALSE(succeeded) << i;
    }
  }
};

TEST_F(ContainerMemoryTest, AppendToStringLeavesTheStringAsItWas) {
  for (size_t size : {58u, 1000u, 5000u, 100000u}) {
    HeapBuffered<> message;
    const std::string field(size, 'x');
    message->AppendString(1, field);
    message->Finalize();
    ASSERT_TRUE(message.ok());
    const std::string expected = message.SerializeAsString();
    std::string string = "before";
    EXPECT_EQ(FailEachAllocation([&] {
                string = "before";
                string.shrink_to_fit();
                bool succeeded;
                {
                  const CodeUnderTest code;
                  succeeded = message.AppendToString(&string);
                }
                EXPECT_EQ(string, succeeded ? "before" + expected : "before");
                return succeeded;
              }),
              1)
        << size;
    EXPECT_TRUE(message.ok());
    EXPECT_EQ(message.SerializeAsString(), expected);
    FailEachAllocation([&] {
      std::string empty = "before";
      bool succeeded;
      {
        const CodeUnderTest code;
        succeeded = message.SerializeToString(&empty);
      }
      EXPECT_EQ(empty, succeeded ? expected : "");
      return succeeded;
    });
  }
}

template <typename Bytes>
bool WriteInto(Bytes* bytes, uint32_t fields) {
  *bytes = Bytes{'b'};
  bytes->shrink_to_fit();
  bool succeeded;
  WriteStatus status;
  {
    const CodeUnderTest code;
    ContainerBuffered<Message, Bytes> message(bytes);
    Message* const root = message.get();
    for (uint32_t i = 0; i < fields; ++i) {
      Message* const child = root->BeginNestedMessage<Message>(1);
      child->BeginNestedMessage<Message>(2)->AppendBytes(1, "xyz", 3);
      child->AppendVarInt(3, i);
    }
    succeeded = message.Finalize() != 0;
    status = message.status();
  }
  EXPECT_EQ(status == WriteStatus::kOk, succeeded);
  if (!succeeded) {
#if !PROTOZERO_DCHECK_IS_ON
    // Debug builds also allocate for nested messages.
    EXPECT_EQ(status, WriteStatus::kOutOfBuffer);
#endif
    EXPECT_EQ(*bytes, Bytes{'b'});
  }
  return succeeded;
}

TEST_F(ContainerMemoryTest, AMessageIsLostAndTheContainerIsAsItWas) {
  std::string string;
  std::vector<uint8_t> vector;
  for (uint32_t fields : {1u, 1000u}) {
    const int least = fields == 1 ? 1 : 3;
    EXPECT_GE(FailEachAllocation([&] { return WriteInto(&string, fields); }),
              least);
    EXPECT_GE(FailEachAllocation([&] { return WriteInto(&vector, fields); }),
              least);
  }
}

}  // namespace
}  // namespace protozero
