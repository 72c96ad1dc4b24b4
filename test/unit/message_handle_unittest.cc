// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_handle.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::Hex;
using testing::ElementsAre;
using testing::IsEmpty;

class Event : public Message {
 public:
  void set_id(uint32_t id) { AppendVarInt(1, id); }
  Event* set_child() { return BeginNestedMessage<Event>(2); }
};

using Handle = MessageHandle<Event>;

static_assert(!std::is_copy_constructible<Handle>::value);
static_assert(!std::is_copy_assignable<Handle>::value);
static_assert(std::is_nothrow_move_constructible<Handle>::value);
static_assert(std::is_nothrow_move_assignable<Handle>::value);
// A handle is not a number.
static_assert(!std::is_convertible<Handle, bool>::value);

class Listener : public MessageFinalizationListener {
 public:
  void OnMessageFinalized(Message* message) override {
    EXPECT_TRUE(message->is_finalized());
    finalized.push_back(message);
  }
  std::vector<Message*> finalized;
};

class MessageHandleTest : public testing::Test {
 protected:
  MessageHandleTest() : delegate_(64), writer_(&delegate_) {
    delegate_.set_writer(&writer_);
    event_.Reset(&writer_);
  }

  std::string Bytes() const { return Hex(delegate_.Bytes()); }

  ChunkedDelegate delegate_;
  ScatteredStreamWriter writer_;
  RootMessage<Event> event_;
};

TEST_F(MessageHandleTest, AnEmptyOneIsFalse) {
  Handle handle;
  EXPECT_FALSE(handle);
  EXPECT_EQ(handle.get(), nullptr);
}

TEST_F(MessageHandleTest, FinalizesAtTheEndOfItsScope) {
  {
    Handle handle(&event_);
    EXPECT_TRUE(handle);
    EXPECT_EQ(handle.get(), &event_);
    EXPECT_EQ(&*handle, &event_);
    handle->set_id(1);
    handle->set_child()->set_id(2);
    EXPECT_FALSE(event_.is_finalized());
  }
  EXPECT_TRUE(event_.is_finalized());
  EXPECT_EQ(Bytes(), "08 01 12 02 08 02");
}

TEST_F(MessageHandleTest, AMessageThatIsFinalizedAlreadyStaysAsItIs) {
  Listener listener;
  {
    Handle handle(&event_);
    handle.set_finalization_listener(&listener);
    handle->set_id(1);
    EXPECT_EQ(handle->Finalize(), 2u);
    EXPECT_THAT(listener.finalized, IsEmpty());
  }
  EXPECT_EQ(Bytes(), "08 01");
  EXPECT_THAT(listener.finalized, ElementsAre(&event_));
}

TEST_F(MessageHandleTest, MovingPassesTheMessageAndTheListenerOn) {
  Listener listener;
  {
    Handle target;
    {
      Handle source(&event_);
      source.set_finalization_listener(&listener);
      Handle middle(std::move(source));
      EXPECT_FALSE(source);  // NOLINT: what moving leaves is specified.
      target = std::move(middle);
      EXPECT_FALSE(middle);  // NOLINT
    }
    EXPECT_FALSE(event_.is_finalized());
    EXPECT_EQ(target.get(), &event_);
    target->set_id(1);
  }
  EXPECT_THAT(listener.finalized, ElementsAre(&event_));
}

TEST_F(MessageHandleTest, AssigningFinalizesWhatTheHandleHeld) {
  ChunkedDelegate other_delegate(64);
  ScatteredStreamWriter other_writer(&other_delegate);
  other_delegate.set_writer(&other_writer);
  RootMessage<Event> other;
  other.Reset(&other_writer);
  Listener listener;
  Handle handle(&event_);
  handle.set_finalization_listener(&listener);
  handle->set_id(1);
  handle = Handle(&other);
  EXPECT_TRUE(event_.is_finalized());
  EXPECT_THAT(listener.finalized, ElementsAre(&event_));
  EXPECT_FALSE(other.is_finalized());
  handle = Handle();
  EXPECT_TRUE(other.is_finalized());
  // The listener belonged to the first message.
  EXPECT_THAT(listener.finalized, ElementsAre(&event_));
}

TEST_F(MessageHandleTest, AssigningAHandleToItselfChangesNothing) {
  Handle handle(&event_);
  Handle& same = handle;
  handle = std::move(same);
  EXPECT_EQ(handle.get(), &event_);
  EXPECT_FALSE(event_.is_finalized());
}

// The caller assigns the next handle of a message that is used again.

TEST_F(MessageHandleTest, AssigningTheNextUseOfTheMessageLeavesItOpen) {
  const auto begin_next = [this] {
    event_.Reset(&writer_);
    return Handle(&event_);
  };
  Handle handle = begin_next();
  handle->AppendVarInt(1, 1);
  handle->Finalize();
  handle = begin_next();
  EXPECT_FALSE(event_.is_finalized());
  handle->AppendVarInt(2, 2);
  handle->Finalize();
  EXPECT_EQ(Bytes(), "08 01 10 02");
}

TEST_F(MessageHandleTest, AssigningTheNextUseTellsItsListenerOnly) {
  Listener first;
  Listener second;
  {
    Handle handle(&event_);
    handle.set_finalization_listener(&first);
    handle->set_id(1);
    handle->Finalize();
    event_.Reset(&writer_);
    Handle next(&event_);
    next.set_finalization_listener(&second);
    handle = std::move(next);
    handle->set_id(2);
  }
  EXPECT_THAT(first.finalized, IsEmpty());
  EXPECT_THAT(second.finalized, ElementsAre(&event_));
  EXPECT_EQ(Bytes(), "08 01 08 02");
}

TEST_F(MessageHandleTest, AssigningTheNextChildLeavesItOpen) {
  Handle child(event_.set_child());
  child->set_id(1);
  // This child is in the memory of the first one, which it seals.
  child = Handle(event_.set_child());
  child->set_id(2);
  child = Handle(event_.set_child());
  child->set_id(3);
  child = Handle();
  event_.Finalize();
  EXPECT_EQ(Bytes(), "12 02 08 01 12 02 08 02 12 02 08 03");
}

TEST_F(MessageHandleTest, TheListenerMayHandTheMessageOutAgain) {
  class Recycler : public MessageFinalizationListener {
   public:
    explicit Recycler(ScatteredStreamWriter* writer) : writer_(writer) {}
    void OnMessageFinalized(Message* message) override {
      auto* event = static_cast<RootMessage<Event>*>(message);
      event->Reset(writer_);
      event->set_id(9);
      ++calls;
    }
    int calls = 0;

   private:
    ScatteredStreamWriter* const writer_;
  };
  Recycler recycler(&writer_);
  {
    Handle handle(&event_);
    handle.set_finalization_listener(&recycler);
    handle->set_id(1);
  }
  EXPECT_EQ(recycler.calls, 1);
  EXPECT_FALSE(event_.is_finalized());
  EXPECT_EQ(Bytes(), "08 01 08 09");
}

TEST_F(MessageHandleTest, TheListenerCanBeTakenBack) {
  Listener listener;
  {
    Handle handle(&event_);
    handle.set_finalization_listener(&listener);
    handle.set_finalization_listener(nullptr);
  }
  EXPECT_TRUE(event_.is_finalized());
  EXPECT_THAT(listener.finalized, IsEmpty());
}

TEST_F(MessageHandleTest, TakeStreamWriterLeavesTheMessageOpen) {
  Listener listener;
  ScatteredStreamWriter* stream;
  {
    Handle handle(&event_);
    handle.set_finalization_listener(&listener);
    handle->set_id(1);
    handle->set_child()->set_id(2);
    stream = handle.TakeStreamWriter();
    EXPECT_FALSE(handle);
  }
  EXPECT_EQ(stream, &writer_);
  EXPECT_FALSE(event_.is_finalized());
  EXPECT_THAT(listener.finalized, IsEmpty());
  // The bytes go to the child, which is still open.
  stream->WriteByte(0x08);
  stream->WriteByte(0x03);
  EXPECT_EQ(event_.Finalize(), 8u);
  EXPECT_EQ(Bytes(), "08 01 12 04 08 02 08 03");
}

TEST_F(MessageHandleTest, AHandleOfANestedMessageSealsIt) {
  event_.set_id(1);
  {
    Handle child(event_.set_child());
    child->set_id(2);
  }
  // Raw bytes belong to the parent again.
  writer_.WriteByte(0x08);
  writer_.WriteByte(0x03);
  EXPECT_EQ(event_.Finalize(), 8u);
  EXPECT_EQ(Bytes(), "08 01 12 02 08 02 08 03");
}

TEST_F(MessageHandleTest, AHandleOfANestedMessageMayOutliveItsSealing) {
  std::optional<Handle> child(event_.set_child());
  (*child)->set_id(2);
  event_.set_id(3);
  EXPECT_TRUE((*child)->is_finalized());
  child.reset();
  event_.set_id(4);
  EXPECT_EQ(event_.Finalize(), 8u);
  EXPECT_EQ(Bytes(), "12 02 08 02 08 03 08 04");
}

TEST_F(MessageHandleTest, AHandleMayOutliveTheWriter) {
  Handle handle(nullptr);
  {
    ScatteredStreamWriter writer(&delegate_);
    event_.Reset(&writer);
    handle = Handle(&event_);
    handle->set_id(1);
  }
  EXPECT_TRUE(handle);
  EXPECT_TRUE(handle->is_finalized());
}

// Debug builds notice a handle whose message was reset for another use. Release
// builds finalize the current message.

constexpr char kStale[] = "belongs to somebody";

TEST_F(MessageHandleTest, EveryUseOfAStaleHandleIsNoticed) {
  const auto use_stale_handle = [this](void (*use)(Handle&)) {
    Handle handle(&event_);
    event_.Finalize();
    event_.Reset(&writer_);
    use(handle);
  };
  EXPECT_MISTAKE(use_stale_handle([](Handle& h) { h->set_id(1); }), kStale);
  EXPECT_MISTAKE(use_stale_handle([](Handle& h) { (*h).set_id(1); }), kStale);
  EXPECT_MISTAKE(use_stale_handle([](Handle& h) { h.get(); }), kStale);
  EXPECT_MISTAKE(use_stale_handle([](Handle& h) { static_cast<void>(!h); }),
                 kStale);
  EXPECT_MISTAKE(use_stale_handle([](Handle& h) { h.TakeStreamWriter(); }),
                 kStale);
  EXPECT_MISTAKE(use_stale_handle([](Handle&) {}), kStale);
}

TEST_F(MessageHandleTest, AMessageResetOnAnotherWriterMakesItsHandleStale) {
  const auto destroy_stale_handle = [this] {
    Handle handle(&event_);
    ScatteredStreamWriter other_writer(&delegate_);
    event_.Reset(&other_writer);
  };
  EXPECT_MISTAKE(destroy_stale_handle(), kStale);
}

TEST_F(MessageHandleTest, ASiblingMakesTheHandleOfANestedMessageStale) {
  const auto destroy_stale_handle = [this] {
    Handle handle(event_.set_child());
    // The second child takes the memory of the first child.
    event_.set_child()->set_id(1);
  };
  EXPECT_MISTAKE(destroy_stale_handle(), kStale);
}

TEST_F(MessageHandleTest, ASiblingOfItsParentDoesNot) {
  {
    Handle handle(event_.set_child()->set_child());
    handle->set_id(1);
    // The second child takes the memory of the first child, not of its child.
    event_.set_child()->set_id(2);
  }
  EXPECT_EQ(event_.Finalize(), 10u);
  EXPECT_EQ(Bytes(), "12 04 12 02 08 01 12 02 08 02");
}

TEST_F(MessageHandleTest, ACousinMakesTheHandleOfANestedMessageStale) {
  const auto destroy_stale_handle = [this] {
    Handle handle(event_.set_child()->set_child());
    event_.set_child()->set_child()->set_id(2);
  };
  EXPECT_MISTAKE(destroy_stale_handle(), kStale);
}

TEST_F(MessageHandleTest, AChildOfTheNextMessageDoes) {
  const auto destroy_stale_handle = [this] {
    event_.set_child();
    Handle handle(event_.set_child());
    event_.Finalize();
    event_.Reset(&writer_);
    event_.set_child();
  };
  EXPECT_MISTAKE(destroy_stale_handle(), kStale);
}

TEST_F(MessageHandleTest, ANestedMessageIsReplacedAtItsDepthOnly) {
  for (int i = 0; i < 3; ++i) {
    {
      Handle below(event_.set_child()->set_child());
      event_.set_child();
      event_.Finalize();
      event_.Reset(&writer_);
      event_.set_child();
      EXPECT_TRUE(below);
      EXPECT_TRUE(below->is_finalized());
    }
    EXPECT_EQ(event_.Finalize(), 2u);
    event_.Reset(&writer_);
  }
}

// The assignment does not finalize the new message.
TEST_F(MessageHandleTest, OneHandleCanBeThatOfOneNestedMessageAfterTheOther) {
  Handle handle(event_.set_child());
  for (uint32_t id = 1; id < 3; ++id) {
    handle = Handle(event_.set_child());
    handle->set_id(id);
  }
  Handle below(handle->set_child());
  event_.set_id(3);
  handle = Handle(event_.set_child());
  below = Handle(handle->set_child());
  below->set_id(4);
  below = Handle();
  handle = Handle();
  EXPECT_EQ(event_.Finalize(), 20u);
  EXPECT_EQ(Bytes(),
            "12 00 12 02 08 01 12 04 08 02 12 00 08 03 12 04 12 02 08 04");
}

TEST_F(MessageHandleTest, AReplacedOneIsNoOthers) {
  const auto assign = [this](Message* (*get)(Event* child)) {
    Handle handle(event_.set_child());
    handle = Handle(static_cast<Event*>(get(event_.set_child())));
    handle = Handle();
  };
  EXPECT_MISTAKE(
      assign([](Event* child) -> Message* { return child->set_child(); }),
      kStale);
  EXPECT_MISTAKE(assign([](Event*) -> Message* { return nullptr; }), kStale);
}

TEST_F(MessageHandleTest, ARollBackReplacesNothingYet) {
  const auto begin_again = [this](bool deep) {
    std::optional<Handle> below(event_.set_child()->set_child());
    event_.RollBackNestedMessage();
    Event* const child = event_.set_child();
    if (deep)
      child->set_child();
  };
  begin_again(false);
  EXPECT_MISTAKE(begin_again(true), kStale);
}

TEST_F(MessageHandleTest, AnEmptyHandleHasNoStream) {
#if PROTOZERO_DCHECK_IS_ON
  Handle handle;
  EXPECT_DEATH(handle.TakeStreamWriter(), "empty handle");
#else
  GTEST_SKIP() << "not checked in release builds";
#endif
}

}  // namespace
}  // namespace protozero
