// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/ping_pong_servers.h"

namespace protozero::workloads {

// Functions that are called or resumed by address are defined here, so that the
// calling loops cannot see them.

CallbackValueServer::CallbackValueServer(ValueMemory* memory)
    : ValueServer(memory), callback_(&OnValue) {}

void CallbackValueServer::OnValue(CallbackValueServer* server, uint64_t value) {
  server->Answer(value);
}

CoroutineResumeServer::CoroutineResumeServer(ValueMemory* memory)
    : ValueServer(memory), task_(Serve()) {}

ServerTask CoroutineResumeServer::Serve() {
  for (;;)
    Answer(co_await Awaiter{this});
}

CoroutineSuspendServer::CoroutineSuspendServer(ValueMemory* memory)
    : ValueServer(memory), task_(Serve()) {}

ServerTask CoroutineSuspendServer::Serve() {
  uint64_t value = 0;
  for (;;)
    value = co_await Awaiter{this, value};
}

namespace {

// A chunk is free when it has been read and committed. Each chunk is committed
// alone: a commit of many would make one packet in thousands wait for all of
// them.
SharedMemoryArbiter::Options ArbiterOptions() {
  SharedMemoryArbiter::Options options;
  options.commit_batch_bytes = 1;
  return options;
}

}  // namespace

PacketSender::PacketSender(PacketMemory::Buffer* buffer)
    : endpoint_(buffer->bytes, sizeof(buffer->bytes), PacketMemory::kPageSize),
      arbiter_(buffer->bytes,
               sizeof(buffer->bytes),
               PacketMemory::kPageSize,
               &endpoint_,
               ArbiterOptions()),
      writer_(arbiter_.CreateTraceWriter(1)) {}

SharedMemoryABI AbiOf(PacketMemory::Buffer* buffer) {
  return SharedMemoryABI(buffer->bytes, sizeof(buffer->bytes),
                         PacketMemory::kPageSize);
}

PacketReader::Options ReaderOptions() {
  PacketReader::Options options;
  // The id of the arbiter's first writer. The arbiter has no other one here.
  options.writer_id = 1;
  options.max_packet_size = 64;
  return options;
}

PacketClient::PacketClient(PacketMemory* memory)
    : requests_(&memory->requests),
      answers_(AbiOf(&memory->answers), ReaderOptions()) {}

PacketSpinServer::PacketSpinServer(PacketMemory* memory)
    : PacketServer(memory),
      requests_(AbiOf(&memory->requests), ReaderOptions()) {}

PacketCallbackServer::PacketCallbackServer(PacketMemory* memory)
    : PacketServer(memory),
      requests_(AbiOf(&memory->requests), ReaderOptions()),
      callback_(&OnPacket) {}

void PacketCallbackServer::OnPacket(PacketCallbackServer* server,
                                    const PacketReader::Packet& packet) {
  server->Answer(packet.bytes);
}

PacketCoroutineServer::PacketCoroutineServer(PacketMemory* memory)
    : PacketServer(memory),
      requests_(AbiOf(&memory->requests), ReaderOptions()),
      task_(Serve()) {}

ServerTask PacketCoroutineServer::Serve() {
  while (const PacketReader::Packet* packet = co_await requests_.Next())
    Answer(packet->bytes);
}

}  // namespace protozero::workloads
