// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/claims/scenarios.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string_view>

#include "protozero/append_fields.h"
#include "protozero/config.h"
#include "protozero/constant_message.h"
#include "protozero/message_arena.h"
#include "protozero/message_handle.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_null_delegate.h"
#include "protozero/static_buffer.h"

namespace protozero::test {

namespace {

using claims::pbzero::Everything;

// The map entries are inside the deepest message, so 100 levels are nested. In
// debug builds, there may be only 50 messages, nested or not, and each level
// takes 11.
constexpr int kMaxDepth = PROTOZERO_DCHECK_IS_ON ? 3 : 99;
static_assert(kMaxDepth < MessageArena::kInlineMessages);

// The size of a buffer for kMaxDepth levels of every field.
constexpr size_t kLargeBuffer = 128 * 1024;

// Ends the program if a scenario goes wrong, because it would prove nothing.
void Check(bool condition) {
  if (!condition)
    abort();
}

// Two small chunks, handed out by turns: every other field crosses a boundary.
class TwoChunks : public ScatteredStreamWriter::Delegate {
 public:
  ContiguousMemoryRange GetNewBuffer() override {
    uint8_t* chunk = chunks_[next_ ^= 1];
    return {chunk, chunk + sizeof(chunks_[0])};
  }

 private:
  uint8_t chunks_[2][32];
  size_t next_ = 0;
};

class RootMessages : public Scenario {
 public:
  const char* name() const override { return "root messages in chunks"; }
  void Run() override {
    TwoChunks delegate;
    ScatteredStreamWriter writer(&delegate);
    for (int depth = 1; depth <= kMaxDepth; ++depth) {
      RootMessage<Everything> message;
      message.Reset(&writer);
      SetEverythingNested(&message, depth);
      Check(message.Finalize() != 0);
    }
  }
};

class ReusedRootMessage : public Scenario {
 public:
  const char* name() const override { return "a reused root message"; }
  void Run() override {
    TwoChunks delegate;
    ScatteredStreamWriter writer(&delegate);
    for (int depth = 1; depth <= kMaxDepth; ++depth) {
      message_.Reset(&writer);
      SetEverythingNested(&message_, depth);
      Check(message_.Finalize() != 0);
    }
  }

 private:
  RootMessage<Everything> message_;
};

class Handles : public Scenario {
 public:
  const char* name() const override { return "message handles"; }
  void Run() override {
    TwoChunks delegate;
    ScatteredStreamWriter writer(&delegate);
    message_.Reset(&writer);
    {
      MessageHandle<Everything> handle(&message_);
      SetEverything(handle.get());
    }
    Check(message_.is_finalized());
  }

 private:
  RootMessage<Everything> message_;
};

class StaticBuffers : public Scenario {
 public:
  const char* name() const override { return "static buffers"; }
  void Run() override {
    for (int depth = 1; depth <= kMaxDepth; ++depth) {
      StaticBuffered<Everything> message(buffer_, sizeof(buffer_));
      SetEverythingNested(message.get(), depth);
      Check(message.Finalize() != 0);
    }
  }

 private:
  uint8_t buffer_[kLargeBuffer];
};

class StackBuffers : public Scenario {
 public:
  const char* name() const override { return "buffers on the stack"; }
  void Run() override {
    for (int depth = 1; depth <= kMaxDepth; ++depth) {
      StackBuffered<Everything, kLargeBuffer> message;
      SetEverythingNested(message.get(), depth);
      Check(message.Finalize() != 0);
    }
  }
};

class BuffersThatAreTooSmall : public Scenario {
 public:
  const char* name() const override { return "buffers that are too small"; }
  void Run() override {
    for (size_t size = 0; size <= sizeof(buffer_); ++size) {
      StaticBuffered<Everything> message(buffer_, size);
      SetEverythingNested(message.get(), kMaxDepth);
      Check(message.Finalize() == 0);
      Check(!message.ok());
    }
  }

 private:
  uint8_t buffer_[100];
};

class ReusedHeapBuffer : public Scenario {
 public:
  ReusedHeapBuffer() : message_(64, 1024) { Run(); }
  const char* name() const override { return "a reused heap buffer"; }
  void Run() override {
    for (int depth = kMaxDepth; depth >= 1; --depth) {
      SetEverythingNested(message_.get(), depth);
      Check(!message_.GetSlices().empty());
      message_.Reset();
    }
  }

 private:
  HeapBuffered<Everything> message_;
};

class NullDelegate : public Scenario {
 public:
  NullDelegate() : delegate_(64) {}
  const char* name() const override { return "the null delegate"; }
  void Run() override {
    ScatteredStreamWriter writer(&delegate_);
    RootMessage<Everything> message;
    message.Reset(&writer);
    SetEverythingNested(&message, kMaxDepth);
    Check(message.Finalize() != 0);
  }

 private:
  ScatteredStreamWriterNullDelegate delegate_;
};

constexpr auto kConstant = MakeConstantMessage<Everything>([] {
  return FieldList(Everything::kInt64Value(1),
                   Everything::kChild(FieldList(Everything::kName("constant"))),
                   Everything::kDirection(claims::pbzero::NORTH));
});
constexpr auto kStencil = MakeConstantMessage<Everything>([] {
  return FieldList(Everything::kUint64Value(Hole()),
                   Everything::kStringValue("stencil"),
                   Everything::kDoubleValue(Hole()));
});

}  // namespace

Scenario::~Scenario() = default;

void SetEverything(Everything* message) {
  constexpr uint8_t kBytes[] = {1, 2, 3};
  message->set_double_value(-1.5);
  message->set_float_value(2.5f);
  message->set_int32_value(-1);
  message->set_int64_value(INT64_MIN);
  message->set_uint32_value(300);
  message->set_uint64_value(UINT64_MAX);
  message->set_sint32_value(-70);
  message->set_sint64_value(INT64_MIN);
  message->set_fixed32_value(1);
  message->set_fixed64_value(2);
  message->set_sfixed32_value(-1);
  message->set_sfixed64_value(-2);
  message->set_bool_value(true);
  message->set_string_value("a string that std::string would allocate for");
  message->set_string_value(std::string_view("abc"));
  message->set_bytes_value(kBytes, sizeof(kBytes));
  message->set_direction(claims::pbzero::WEST);
  for (int i = 0; i < 3; ++i)
    message->add_numbers(i);
  PackedVarInt numbers;
  PackedSignedVarInt signed_numbers;
  PackedFixedSizeInt<double> doubles;
  for (int i = 0; i < 50; ++i) {
    numbers.Append(i);
    signed_numbers.Append(-i);
    doubles.Append(i);
  }
  message->set_packed_numbers(numbers);
  message->set_packed_signed_numbers(signed_numbers);
  message->set_packed_doubles(doubles);
  for (int i = 0; i < 2; ++i) {
    auto* entry = message->add_counts();
    entry->set_key("key");
    entry->set_value(i);
  }
  message->set_name("x");
  message->set_number(1);
  AppendFields(message, Everything::kDoubleValue(0.5),
               Everything::kInt32Value(-1),
               Everything::kBytesValue(kBytes, sizeof(kBytes)),
               Everything::kName("a name that std::string would allocate for"),
               Everything::kNumbers(4), Everything::kNumbers(5));
  AppendFields(message, kConstant, Everything::kChild(kConstant),
               kStencil(1, 2), Everything::kChild(kStencil(3, 4)));
}

void SetEverythingNested(Everything* message, int depth) {
  SetEverything(message);
  if (depth > 0)
    SetEverythingNested(message->set_child(), depth - 1);
}

std::vector<std::unique_ptr<Scenario>> MakeScenarios() {
  std::vector<std::unique_ptr<Scenario>> scenarios;
  scenarios.push_back(std::make_unique<RootMessages>());
  scenarios.push_back(std::make_unique<ReusedRootMessage>());
  scenarios.push_back(std::make_unique<Handles>());
  scenarios.push_back(std::make_unique<StaticBuffers>());
  scenarios.push_back(std::make_unique<StackBuffers>());
  scenarios.push_back(std::make_unique<BuffersThatAreTooSmall>());
  scenarios.push_back(std::make_unique<ReusedHeapBuffer>());
  scenarios.push_back(std::make_unique<NullDelegate>());
  return scenarios;
}

}  // namespace protozero::test
