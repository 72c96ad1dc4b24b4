// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_PING_PONG_SERVERS_H_
#define TEST_WORKLOADS_PING_PONG_SERVERS_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/async_packet_reader.h"
#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_writer.h"

// The processes that send values back. Each server has
//
//   bool Poll();           answers if there is a value; returns true then
//   bool is_over() const;  returns true after it has answered kOver
//   uint64_t num_answered() const;
//
// and each client
//
//   void Send(uint64_t value);
//   bool TryReceive(uint64_t* value);
//
// and there is nothing but memory between them.

namespace protozero::workloads {

// The value that is sent last. The measurement never uses it.
constexpr uint64_t kOver = 0;

// ---- Values

// Values are passed in memory that is all zero at first. So a 0 is there before
// anything is sent; the final 0 is different because it follows other values.
struct ValueMemory {
  alignas(64) std::atomic<uint64_t> request;
  alignas(64) std::atomic<uint64_t> answer;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class ValueClient {
 public:
  explicit ValueClient(ValueMemory* memory) : memory_(memory) {}

  [[gnu::always_inline]] inline void Send(uint64_t value) {
    memory_->request.store(value, std::memory_order_release);
  }
  [[gnu::always_inline]] inline bool TryReceive(uint64_t* value) {
    *value = memory_->answer.load(std::memory_order_acquire);
    if (*value == last_)
      return false;
    last_ = *value;
    return true;
  }

 private:
  ValueMemory* const memory_;
  uint64_t last_ = 0;
};

// The common part of the servers of values.
class ValueServer {
 public:
  explicit ValueServer(ValueMemory* memory) : memory_(memory) {}
  ValueServer(const ValueServer&) = delete;
  ValueServer& operator=(const ValueServer&) = delete;

  bool is_over() const { return is_over_; }
  uint64_t num_answered() const { return num_answered_; }

 protected:
  [[gnu::always_inline]] inline bool TryReceive(uint64_t* value) {
    *value = memory_->request.load(std::memory_order_acquire);
    if (*value == last_)
      return false;
    last_ = *value;
    return true;
  }
  [[gnu::always_inline]] inline void Answer(uint64_t value) {
    is_over_ = value == kOver;
    ++num_answered_;
    memory_->answer.store(value, std::memory_order_release);
  }

 private:
  ValueMemory* const memory_;
  uint64_t last_ = 0;
  bool is_over_ = false;
  uint64_t num_answered_ = 0;
};

// A server that answers in Poll() itself: the floor.
class SpinValueServer : public ValueServer {
 public:
  using ValueServer::ValueServer;

  [[gnu::always_inline]] inline bool Poll() {
    uint64_t value;
    if (!TryReceive(&value))
      return false;
    Answer(value);
    return true;
  }
};

// A server whose loop calls a function that it knows by its address only.
class CallbackValueServer : public ValueServer {
 public:
  explicit CallbackValueServer(ValueMemory* memory);

  [[gnu::always_inline]] inline bool Poll() {
    uint64_t value;
    if (!TryReceive(&value))
      return false;
    callback_(this, value);
    return true;
  }

 private:
  using Callback = void (*)(CallbackValueServer* server, uint64_t value);
  static void OnValue(CallbackValueServer* server, uint64_t value);

  const Callback callback_;
};

// A coroutine that begins when it is first resumed. This object destroys it.
class ServerTask {
 public:
  struct promise_type {
    ServerTask get_return_object() {
      return ServerTask(
          std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  ~ServerTask() { coroutine_.destroy(); }
  ServerTask(const ServerTask&) = delete;
  ServerTask& operator=(const ServerTask&) = delete;

 private:
  explicit ServerTask(std::coroutine_handle<promise_type> coroutine)
      : coroutine_(coroutine) {}

  const std::coroutine_handle<promise_type> coroutine_;
};

// A coroutine that waits for a value and answers as soon as it runs. It waits
// again after the answer, so the round trip includes a resumption but no
// suspension.
class CoroutineResumeServer : public ValueServer {
 public:
  explicit CoroutineResumeServer(ValueMemory* memory);

  [[gnu::always_inline]] inline bool Poll() {
    if (!TryReceive(&value_))
      return false;
    waiting_.resume();
    return true;
  }

 private:
  struct Awaiter {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) noexcept {
      server->waiting_ = coroutine;
    }
    uint64_t await_resume() const noexcept { return server->value_; }
    CoroutineResumeServer* server;
  };
  ServerTask Serve();

  uint64_t value_ = 0;
  std::coroutine_handle<> waiting_;
  const ServerTask task_;
};

// A coroutine that waits for a value, and gives its answer when it waits for
// the next one. The loop that resumed it sends the answer after the coroutine
// is suspended, so the round trip includes both.
class CoroutineSuspendServer : public ValueServer {
 public:
  explicit CoroutineSuspendServer(ValueMemory* memory);

  [[gnu::always_inline]] inline bool Poll() {
    if (!TryReceive(&value_))
      return false;
    waiting_.resume();
    Answer(answer_);
    return true;
  }

 private:
  struct Awaiter {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) noexcept {
      server->answer_ = answer;
      server->waiting_ = coroutine;
    }
    uint64_t await_resume() const noexcept { return server->value_; }
    CoroutineSuspendServer* server;
    uint64_t answer;
  };
  ServerTask Serve();

  uint64_t value_ = 0;
  uint64_t answer_ = 0;
  std::coroutine_handle<> waiting_;
  const ServerTask task_;
};

// ---- Packets

// Two buffers, one for each direction.
struct PacketMemory {
  static constexpr size_t kPageSize = 4096;
  static constexpr size_t kNumPages = 64;
  struct Buffer {
    alignas(kPageSize) uint8_t bytes[kNumPages * kPageSize];
  };
  Buffer requests;
  Buffer answers;
};

// A sender that writes values as packets: each has an event with the value of a
// counter.
class PacketSender {
 public:
  explicit PacketSender(PacketMemory::Buffer* buffer);

  [[gnu::always_inline]] inline void Send(uint64_t timestamp, uint64_t value) {
    using protozero::trace::TrackEvent;
    auto packet = writer_->NewTracePacket<protozero::trace::TracePacket>();
    packet->set_timestamp(timestamp);
    TrackEvent* const event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_COUNTER);
    event->set_track_uuid(kTrack);
    event->set_counter_value(static_cast<int64_t>(value));
  }
  uint64_t packets_lost() const { return writer_->packets_lost(); }

 private:
  static constexpr uint64_t kTrack = 0x4e6f776865726521;

  InPlaceEndpoint endpoint_;
  SharedMemoryArbiter arbiter_;
  const std::unique_ptr<TraceWriter> writer_;
};

// Return the layout of a buffer and the options for its reader.
SharedMemoryABI AbiOf(PacketMemory::Buffer* buffer);
PacketReader::Options ReaderOptions();

// The content of a packet.
struct ValuePacket {
  uint64_t timestamp;
  uint64_t value;
};
// Decodes a packet field by field. A generated decoder makes an index of them,
// which pays only for more fields.
inline ValuePacket DecodePacket(ConstBytes bytes) {
  using namespace protozero::trace;
  ValuePacket value = {};
  ProtoDecoder packet(bytes);
  for (Field field = packet.ReadField(); field; field = packet.ReadField()) {
    if (field.id() == TracePacket::kTimestampFieldNumber) {
      value.timestamp = field.as_uint64();
    } else if (field.id() == TracePacket::kTrackEventFieldNumber) {
      value.value = ProtoDecoder(field.as_bytes())
                        .FindField(TrackEvent::kCounterValueFieldNumber)
                        .as_uint64();
    }
  }
  return value;
}

class PacketClient {
 public:
  explicit PacketClient(PacketMemory* memory);

  // Sends a packet whose time is its number, because the clock is not measured
  // here.
  [[gnu::always_inline]] inline void Send(uint64_t value) {
    requests_.Send(++num_sent_, value);
  }
  [[gnu::always_inline]] inline bool TryReceive(uint64_t* value) {
    PacketReader::Packet packet;
    if (!answers_.TryNext(&packet))
      return false;
    const ValuePacket message = DecodePacket(packet.bytes);
    is_right_ = is_right_ && message.timestamp == num_sent_ &&
                !packet.previous_packet_dropped;
    *value = message.value;
    return true;
  }
  // Returns true if no packet was lost and all answers belong to their
  // questions.
  bool is_right() const { return is_right_ && requests_.packets_lost() == 0; }

 private:
  PacketSender requests_;
  PacketReader answers_;
  uint64_t num_sent_ = 0;
  bool is_right_ = true;
};

// The common part of the servers of packets.
class PacketServer {
 public:
  explicit PacketServer(PacketMemory* memory) : answers_(&memory->answers) {}
  PacketServer(const PacketServer&) = delete;
  PacketServer& operator=(const PacketServer&) = delete;

  bool is_over() const { return is_over_; }
  uint64_t num_answered() const { return num_answered_; }

 protected:
  [[gnu::always_inline]] inline void Answer(ConstBytes packet) {
    const ValuePacket message = DecodePacket(packet);
    is_over_ = message.value == kOver;
    ++num_answered_;
    answers_.Send(message.timestamp, message.value);
  }

 private:
  PacketSender answers_;
  bool is_over_ = false;
  uint64_t num_answered_ = 0;
};

class PacketSpinServer : public PacketServer {
 public:
  explicit PacketSpinServer(PacketMemory* memory);

  [[gnu::always_inline]] inline bool Poll() {
    PacketReader::Packet packet;
    if (!requests_.TryNext(&packet))
      return false;
    Answer(packet.bytes);
    return true;
  }

 private:
  PacketReader requests_;
};

class PacketCallbackServer : public PacketServer {
 public:
  explicit PacketCallbackServer(PacketMemory* memory);

  [[gnu::always_inline]] inline bool Poll() {
    return requests_.ReadPackets(
               [this](const PacketReader::Packet& packet) {
                 callback_(this, packet);
               },
               1) != 0;
  }

 private:
  using Callback = void (*)(PacketCallbackServer* server,
                            const PacketReader::Packet& packet);
  static void OnPacket(PacketCallbackServer* server,
                       const PacketReader::Packet& packet);

  PacketReader requests_;
  const Callback callback_;
};

// A server that answers as soon as it is resumed.
class PacketCoroutineServer : public PacketServer {
 public:
  explicit PacketCoroutineServer(PacketMemory* memory);

  [[gnu::always_inline]] inline bool Poll() { return requests_.Poll(); }

 private:
  ServerTask Serve();

  AsyncPacketReader requests_;
  const ServerTask task_;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_PING_PONG_SERVERS_H_
