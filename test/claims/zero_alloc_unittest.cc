// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The claim: between the construction of a message and Finalize(), nothing is
// allocated, at up to 100 levels of nesting; in debug builds, for up to 50
// nested messages. The file also tests when the first allocation happens, and
// the state of the message if it fails.

#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/buffer_allocator.h"
#include "protozero/config.h"
#include "protozero/delimited_writer.h"
#include "protozero/message_arena.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "protozero/string_buffer.h"
#include "test/claims/claims.pbzero.h"
#include "test/claims/scenarios.h"
#include "test/testing/allocation_monitor.h"

namespace protozero {
namespace {

using claims::pbzero::Everything;
using test::AllocationCounter;
using test::NothrowAllocationsFail;

constexpr int kInlineMessages = static_cast<int>(MessageArena::kInlineMessages);

template <typename Function>
size_t CountAllocations(const Function& function) {
  const AllocationCounter counter;
  function();
  return counter.count();
}

// A pointer that keeps the compiler from seeing that memory is not used.
void* volatile sink;

TEST(AllocationCounterTest, SeesEveryWayToAllocate) {
  EXPECT_EQ(CountAllocations([] {}), 0u);
  EXPECT_GE(CountAllocations([] {
              sink = malloc(1);
              free(sink);
            }),
            1u);
  EXPECT_GE(CountAllocations([] {
              sink = calloc(1, 1);
              free(sink);
            }),
            1u);
  EXPECT_GE(CountAllocations([] {
              sink = new int;
              delete static_cast<int*>(sink);
            }),
            1u);
  EXPECT_GE(CountAllocations([] {
              sink = new (std::nothrow) int[3];
              delete[] static_cast<int*>(sink);
            }),
            1u);
  // The standard library allocates this memory in its own code.
  EXPECT_GE(CountAllocations([] {
              std::string string("0123456789");
              string.append(1000, 'x');
              sink = string.data();
            }),
            1u);
}

TEST(ZeroAllocTest, NoScenarioAllocates) {
  for (const auto& scenario : test::MakeScenarios()) {
    EXPECT_EQ(CountAllocations([&] { scenario->Run(); }), 0u)
        << scenario->name();
  }
}

void Nest(Message* message, int depth) {
  for (int i = 0; i < depth; ++i)
    message = message->BeginNestedMessage<Message>(1);
  message->AppendVarInt(1, 1);
}

TEST(FirstAllocationTest, TheFirst100LevelsNeedNoneAndFurtherOnesFew) {
  uint8_t buffer[8192];
  for (int depth = 0; depth <= 1000; ++depth) {
    const size_t allocations = CountAllocations([&] {
      StaticBuffered<Message> message(buffer, sizeof(buffer));
      Nest(message.get(), depth);
      message.Finalize();
    });
    if (depth <= kInlineMessages) {
      EXPECT_EQ(allocations, 0u) << "depth " << depth;
    } else {
      EXPECT_GE(allocations, 1u) << "depth " << depth;
    }
    EXPECT_LE(allocations, static_cast<size_t>(depth) / 100);
  }
}

TEST(FirstAllocationTest, CrossingTheLimitAgainTakesNoFurtherOne) {
  uint8_t buffer[8192];
  StaticBuffered<Message> message(buffer, sizeof(buffer));
  EXPECT_EQ(CountAllocations([&] {
              for (int i = 0; i < 5; ++i)
                Nest(message.get(), kInlineMessages + 1);
              Nest(message.get(), kInlineMessages);
              Nest(message.get(), kInlineMessages + 50);
            }),
            // Debug builds use no slot twice: 755 messages, 128 in a block.
            PROTOZERO_DCHECK_IS_ON ? 6u : 1u);
}

TEST(FirstAllocationTest, MessagesNextToEachOtherNeedNoneButInDebugBuilds) {
  std::vector<uint8_t> buffer(8192);
  ScatteredStreamWriter writer(nullptr);
  RootMessage<> message;
  const auto write = [&](int count) {
    message.Reset(&writer, {buffer.data(), buffer.data() + buffer.size()});
    for (int i = 0; i < count; ++i)
      message.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    EXPECT_EQ(message.Finalize(), static_cast<uint32_t>(4 * count));
  };
  // The number of earlier root messages makes no difference.
  for (int count = 0; count <= 50; ++count) {
    EXPECT_EQ(CountAllocations([&] { write(count); }), 0u);
    EXPECT_EQ(CountAllocations([&] { write(50); }), 0u);
  }
  write(0);
  EXPECT_EQ(CountAllocations([&] { write(kInlineMessages + 129); }),
            PROTOZERO_DCHECK_IS_ON ? 2u : 0u);
  // The next root message uses the blocks again.
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CountAllocations([&] { write(kInlineMessages + 2 * 128); }), 0u);
  }
}

TEST(FirstAllocationTest, AHeapBufferThatIsResetDoesNotAllocateAgain) {
  HeapBuffered<Everything> message(256, 512);
  const auto write = [&] {
    test::SetEverythingNested(message.get(), 20);
    message.GetSlices();
    message.Reset();
  };
  EXPECT_GT(CountAllocations(write), 0u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CountAllocations(write), 0u);
  }
}

TEST(FirstAllocationTest, AHeapBufferTakesOneForEachSliceButTheFirst) {
  const std::vector<uint8_t> bytes(1000);
  for (size_t size : {1u, 64u, 65u, 640u, 641u, 1000u}) {
    HeapBuffered<Message> message(64, 64);
    EXPECT_EQ(CountAllocations(
                  [&] { message->AppendRawProtoBytes(bytes.data(), size); }),
              (size + 63) / 64 - 1);
  }
}

TEST(FirstAllocationTest, AHeapBufferWithALargeFirstSliceTakesOneForIt) {
  constexpr size_t kLargest = HeapBuffered<>::kFirstSliceSize;
  HeapBuffered<> message(kLargest, kLargest);
  EXPECT_EQ(CountAllocations([&] { message->AppendVarInt(1, 1); }), 0u);
  HeapBuffered<> larger(kLargest + 1, kLargest + 1);
  EXPECT_EQ(CountAllocations([&] { larger->AppendVarInt(1, 1); }), 1u);
}

TEST(FirstAllocationTest, ASmallMessageTakesNoneButItsString) {
  // A string of up to 15 bytes is in the object, and the message has two
  // bytes besides its own string.
  const std::string field(1000, 'x');
  HeapBuffered<> reused;
  for (size_t size : {0u, 13u, 14u, 58u, 276u, 1000u}) {
    const size_t expected = size > 13 ? 1u : 0u;
    EXPECT_EQ(CountAllocations([&] {
                HeapBuffered<> message;
                message->AppendBytes(1, field.data(), size);
                const std::string string = message.SerializeAsString();
                sink = const_cast<char*>(string.data());
              }),
              expected)
        << size;
    EXPECT_EQ(CountAllocations([&] {
                reused.Reset();
                reused->AppendBytes(1, field.data(), size);
                sink = const_cast<char*>(reused.SerializeAsString().data());
              }),
              expected)
        << size;
  }
}

// The largest message comes first.
template <typename Write>
void ExpectNoneForTheSameContainer(const Write& write) {
  EXPECT_GT(CountAllocations([&] { write(5000); }), 0u);
  for (size_t size : {0u, 1u, 58u, 276u, 4096u, 5000u})
    EXPECT_EQ(CountAllocations([&] { write(size); }), 0u) << size;
}

TEST(FirstAllocationTest, AContainerThatIsUsedAgainNeedsNone) {
  const std::string field(5000, 'x');
  std::string string;
  HeapBuffered<> heap;
  ExpectNoneForTheSameContainer([&](size_t size) {
    heap.Reset();
    heap->AppendBytes(1, field.data(), size);
    EXPECT_TRUE(heap.SerializeToString(&string));
  });
  std::string direct_string;
  ExpectNoneForTheSameContainer([&](size_t size) {
    direct_string.clear();
    StringBuffered<> message(&direct_string);
    message->AppendBytes(1, field.data(), size);
    EXPECT_GE(message.Finalize(), size);
  });
  std::vector<uint8_t> vector;
  VectorBuffered<> message(&vector);
  message.Finalize();
  ExpectNoneForTheSameContainer([&](size_t size) {
    vector.clear();
    message.Reset();
    message->AppendBytes(1, field.data(), size);
    EXPECT_GE(message.Finalize(), size);
  });
}

TEST(FirstAllocationTest, ASmallMessageInAStringTakesOne) {
  const std::string field(500, 'x');
  for (size_t size : {1u, 58u, 460u}) {
    EXPECT_EQ(CountAllocations([&] {
                std::string string;
                StringBuffered<> message(&string);
                message->AppendBytes(1, field.data(), size);
                EXPECT_GE(message.Finalize(), size);
              }),
              1u)
        << size;
  }
}

TEST(FirstAllocationTest, ChainsOfMessagesThatRecycleNeedNone) {
  RecyclingBufferAllocator allocator;
  const auto write = [&allocator] {
    HeapBuffered<Everything> message(256, 512, &allocator);
    test::SetEverythingNested(message.get(), 20);
    // Both messages write fields, so that there are slices of two messages.
    HeapBuffered<Everything> next(256, 512, &allocator);
    test::SetEverythingNested(next.get(), 10);
    EXPECT_TRUE(message.ok() && next.ok());
  };
  EXPECT_GT(CountAllocations(write), 0u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CountAllocations(write), 0u);
  }
}

TEST(FirstAllocationTest, AHeapBufferDoesNotAllocateBeforeTheFirstWrite) {
  EXPECT_EQ(CountAllocations([] {
              HeapBuffered<Everything> message;
              message.GetSlices();
            }),
            0u);
}

TEST(FirstAllocationTest, PackedFieldsUpToTheirStorageNeedNone) {
  constexpr size_t kElements = PackedBufferBase::kOnStackStorageSize / 8;
  PackedFixedSizeInt<uint64_t> packed;
  const auto append = [&](size_t count) {
    return CountAllocations([&] {
      for (size_t i = 0; i < count; ++i)
        packed.Append(i);
    });
  };
  EXPECT_EQ(append(kElements), 0u);
  EXPECT_EQ(append(1), 1u);
  EXPECT_EQ(append(kElements - 1), 0u);
  packed.Reset();
  EXPECT_EQ(append(2 * kElements), 0u);
}

TEST(FirstAllocationTest, ArraysUpToTheStorageNeedNone) {
  constexpr size_t kElements = PackedBufferBase::kOnStackStorageSize / 8;
  const std::vector<uint64_t> values(kElements + 1, ~uint64_t{0});
  PackedFixedSizeInt<uint64_t> packed;
  const auto append = [&](size_t count) {
    return CountAllocations([&] { packed.Append(values.data(), count); });
  };
  EXPECT_EQ(append(kElements), 0u);
  EXPECT_EQ(append(1), 1u);
}

// Setters of arrays allocate nothing for any number of elements, even if they
// encode the elements.
TEST(FirstAllocationTest, SettersOfArraysNeedNone) {
  const std::vector<int64_t> values(PackedBufferBase::kOnStackStorageSize, -1);
  std::vector<uint8_t> buffer(64 * 8192);
  StaticBuffered<Message> message(buffer.data(), buffer.size());
  EXPECT_EQ(CountAllocations([&] {
              PackedVarInt::AppendField(message.get(), 1, values.data(),
                                        values.size());
              PackedSignedVarInt::AppendField(message.get(), 2, values.data(),
                                              values.size());
              PackedFixedSizeInt<int64_t>::AppendField(
                  message.get(), 3, values.data(), values.size());
            }),
            0u);
  EXPECT_TRUE(message.ok());
}

// ---- Messages without memory: this is a state.

class OutOfMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NothrowAllocationsFail::IsSupported())
      GTEST_SKIP() << "allocations cannot be made to fail in this build";
  }
};

TEST_F(OutOfMemoryTest, MessagesThatAreTooDeepDropEverything) {
  uint8_t buffer[4096];
  StaticBuffered<Message> message(buffer, sizeof(buffer));
  const NothrowAllocationsFail fail;
  Message* deepest = message.get();
  for (int i = 0; i < kInlineMessages; ++i)
    deepest = deepest->BeginNestedMessage<Message>(1);
  EXPECT_TRUE(message.ok());
  Message* dropping = deepest->BeginNestedMessage<Message>(1);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfMemory);
  for (int i = 0; i < 200; ++i) {
    dropping->AppendVarInt(1, 1);
    dropping->AppendTinyVarInt(1, 1);
    dropping->AppendFixed(1, 1.0);
    dropping->AppendString(1, std::string(50, 'x'));
    dropping->AppendRawProtoBytes("abc", 3);
    dropping = dropping->BeginNestedMessage<Message>(1);
    ASSERT_NE(dropping, nullptr);
  }
  EXPECT_EQ(dropping->Finalize(), 0u);
  deepest->AppendVarInt(1, 1);
  message->AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfMemory);
}

// Setters may store to a message even if they drop their argument, so two
// threads must not get the same message.
TEST_F(OutOfMemoryTest, EachRootHasAMessageOfItsOwnThatDropsEverything) {
  uint8_t buffer[4096];
  const NothrowAllocationsFail fail;
  const auto begin_too_deep = [](Message* deepest) {
    for (int i = 0; i <= kInlineMessages; ++i)
      deepest = deepest->BeginNestedMessage<Message>(1);
    return deepest;
  };
  StaticBuffered<Message> one(buffer, sizeof(buffer));
  StaticBuffered<Message> other(buffer, sizeof(buffer));
  Message* const dropping = begin_too_deep(one.get());
  EXPECT_TRUE(dropping->is_finalized());
  EXPECT_NE(dropping, begin_too_deep(other.get()));
  EXPECT_EQ(dropping, dropping->BeginNestedMessage<Message>(1));
  EXPECT_EQ(one.status(), WriteStatus::kOutOfMemory);
}

TEST_F(OutOfMemoryTest, AnArenaGoesOnWhereItStopped) {
  MessageArena arena;
  {
    const NothrowAllocationsFail fail(1);
    for (int i = 0; i < kInlineMessages + 128; ++i) {
      ASSERT_NE(arena.NewMessage(), nullptr);
    }
    EXPECT_EQ(arena.NewMessage(), nullptr);
    EXPECT_EQ(arena.NewMessage(), nullptr);
  }
  EXPECT_NE(arena.NewMessage(), nullptr);
}

TEST_F(OutOfMemoryTest, AHeapBufferEndsAndCanBeReset) {
  for (size_t allow : {0u, 1u, 2u}) {
    HeapBuffered<Message> message(64, 64);
    {
      const NothrowAllocationsFail fail(allow);
      message->AppendString(1, std::string(300, 'x'));
      message->BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    }
    EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
    EXPECT_TRUE(message.SerializeAsArray().empty());
    EXPECT_TRUE(message.SerializeAsString().empty());
    message.Reset();
    EXPECT_TRUE(message.ok());
    message->AppendString(1, std::string(300, 'x'));
    EXPECT_EQ(message.SerializeAsArray().size(), 303u);
  }
}

// The places of 16 sizes are in the object.
TEST_F(OutOfMemoryTest, AMessageInAStringEndsIfItsSizesHaveNoPlace) {
  for (int depth : {16, 17, 40}) {
    std::string string = "before";
    StringBuffered<> message(&string);
    Message* deepest = message.get();
    for (int i = 0; i < depth; ++i)
      deepest = deepest->BeginNestedMessage<Message>(1);
    {
      // Strings use the operator that throws.
      const NothrowAllocationsFail fail;
      deepest->AppendString(1, std::string(600, 'x'));
    }
    EXPECT_EQ(message.ok(), depth <= 16) << depth;
    EXPECT_EQ(message.Finalize() != 0, depth <= 16);
    if (depth > 16) {
      EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
      EXPECT_EQ(string, "before");
    }
    message.Reset();
    message->AppendString(1, std::string(300, 'x'));
    EXPECT_EQ(message.Finalize(), 303u);
  }
}

TEST_F(OutOfMemoryTest, APackedBufferSaysThatItIsIncompleteUntilReset) {
  constexpr size_t kElements = PackedBufferBase::kOnStackStorageSize / 8;
  PackedFixedSizeInt<uint64_t> packed;
  for (size_t i = 0; i < kElements; ++i)
    packed.Append(i);
  EXPECT_TRUE(packed.ok());
  {
    const NothrowAllocationsFail fail;
    packed.Append(1);
  }
  EXPECT_FALSE(packed.ok());
  EXPECT_EQ(packed.size(), 8 * kElements);
  packed.Append(1);
  EXPECT_FALSE(packed.ok());
  packed.Reset();
  EXPECT_TRUE(packed.ok());
  packed.Append(1);
  EXPECT_TRUE(packed.ok());
  EXPECT_EQ(packed.size(), 8u);
}

TEST(ZeroAllocTest, AStreamOfMessagesAllocatesForTheFirstOne) {
  size_t bytes = 0;
  DelimitedWriter writer(
      [&bytes](const ContiguousMemoryRange* pieces, size_t count) {
        for (size_t i = 0; i < count; ++i)
          bytes += pieces[i].size();
        return true;
      });
  HeapBuffered<Message> message(64, 64);
  const auto write = [&] {
    message.Reset();
    for (int i = 0; i < 100; ++i)
      message->AppendVarInt(1, i);
    writer.Write(&message);
  };
  write();
  EXPECT_EQ(CountAllocations(write), 0u);
  EXPECT_EQ(bytes, 2 * 202u);
}

TEST_F(OutOfMemoryTest, APackedBufferKeepsTheElementsThatFit) {
  constexpr size_t kElements = PackedBufferBase::kOnStackStorageSize / 8;
  const std::vector<uint64_t> values(3 * kElements, 1);
  PackedFixedSizeInt<uint64_t> packed;
  {
    const NothrowAllocationsFail fail(1);
    packed.Append(values.data(), values.size());
  }
  EXPECT_FALSE(packed.ok());
  EXPECT_EQ(packed.size(), 2 * 8 * kElements);
}

}  // namespace
}  // namespace protozero
