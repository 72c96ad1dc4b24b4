// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a ServiceHost with clients that are no Producer: they talk to it byte
// by byte, make mistakes, or do not listen.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"
#include "test/tracing/raw_client.h"

namespace protozero::test {
namespace {

namespace pb = tracing::pbzero;
using testing::ElementsAre;

class IpcProtocolTest : public IpcTest {};

TEST_F(IpcProtocolTest, RequestsAreAnsweredInOrder) {
  HostThread host(socket());
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  client.Invoke(77, kSync);
  client.Invoke<Message>(77, kSync, [](Message*) {}, /*drop_reply=*/true);
  client.Invoke(0, kSync);
  EXPECT_THAT(client.ReceiveTexts(4),
              ElementsAre("1 bound yes 12", "2 yes", "77 yes", "0 yes"));
}

// The replies do not fit into the socket's buffer.
TEST_F(IpcProtocolTest, AClientThatReadsLateGetsAllReplies) {
  constexpr uint64_t kRequests = 3000;
  HostThread host(socket());
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  for (uint64_t i = 10; i < 10 + kRequests; ++i)
    client.Invoke(i, kSync);
  EXPECT_THAT(client.ReceiveTexts(2), ElementsAre("1 bound yes 12", "2 yes"));
  for (uint64_t i = 10; i < 10 + kRequests; ++i)
    ASSERT_EQ(client.ReceiveText(), std::to_string(i) + " yes");
}

TEST_F(IpcProtocolTest, IdsOfWritersAreChecked) {
  HostThread host(socket());
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  const auto call = [&](ProducerMethod method, uint32_t writer_id,
                        uint32_t buffer) {
    client.Invoke<pb::RegisterTraceWriterRequest>(
        3, static_cast<uint32_t>(method),
        [&](pb::RegisterTraceWriterRequest* request) {
          request->set_trace_writer_id(writer_id);
          request->set_target_buffer(buffer);
        });
  };
  client.ReceiveTexts(2);
  constexpr auto kRegister = ProducerMethod::kRegisterTraceWriter;
  call(kRegister, 0, 1);
  call(kRegister, kMaxWriterID + 1, 1);
  call(kRegister, 0x10001, 1);
  call(kRegister, 1, 0x10000);
  EXPECT_THAT(client.ReceiveTexts(4),
              ElementsAre("3 no", "3 no", "3 no", "3 no"));
  call(kRegister, 1, 0xffff);
  call(kRegister, kMaxWriterID, 0);
  EXPECT_THAT(client.ReceiveTexts(2), ElementsAre("3 yes", "3 yes"));
  constexpr auto kUnregister = ProducerMethod::kUnregisterTraceWriter;
  call(kUnregister, 0, 0);
  call(kUnregister, kMaxWriterID + 1, 0);
  call(kUnregister, 0x10001, 0);
  EXPECT_THAT(client.ReceiveTexts(3), ElementsAre("3 no", "3 no", "3 no"));
  call(kUnregister, 1, 0);
  call(kUnregister, kMaxWriterID, 0);
  EXPECT_THAT(client.ReceiveTexts(2), ElementsAre("3 yes", "3 yes"));
}

TEST_F(IpcProtocolTest, AProducerIsToldWhoseMemoryItUses) {
  HostThread host(socket());
  for (const bool own_memory : {false, true}) {
    const auto memory = SharedMemoryFile::Create(64 * 1024);
    RawClient client(socket());
    client.Bind();
    EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
    client.Initialize(own_memory, own_memory ? memory->fd() : -1);
    const std::string payload = client.Receive();
    const pb::IPCFrame::InvokeMethodReply::Decoder reply(
        pb::IPCFrame::Decoder(payload).msg_invoke_method_reply());
    EXPECT_TRUE(reply.success());
    EXPECT_FALSE(reply.has_more());
    const pb::InitializeConnectionResponse::Decoder response(
        reply.reply_proto());
    EXPECT_EQ(response.using_shmem_provided_by_producer(), own_memory);
    EXPECT_TRUE(response.direct_smb_patching_supported());
  }
}

TEST_F(IpcProtocolTest, MistakesAreRefused) {
  HostThread host(socket());
  RawClient client(socket());
  client.Invoke(10, kSync);  // It is not bound yet.
  client.Bind("producer_port");
  client.Bind();
  client.Invoke(11, kSync);  // It is not initialized yet.
  client.Initialize();
  client.Initialize();   // This is the second time.
  client.Invoke(12, 0);  // There is no such method.
  client.Invoke(13, 13);
  client.Invoke(14, UINT32_MAX);
  client.Invoke<Message>(15, kSync, [](Message*) {}, false, -1, /*service=*/2);
  client.Send([](pb::IPCFrame* frame) { frame->set_request_id(16); });
  // One commit comes before there is memory, the other one is malformed.
  client.Invoke(17, kCommit);
  client.Invoke<Message>(18, kCommit, [](Message* args) {
    args->AppendString(1, std::string("\x08"));
  });
  client.Invoke(19, kSync);
  EXPECT_THAT(client.ReceiveTexts(14),
              ElementsAre("10 no", "1 bound no 0", "1 bound yes 12", "11 no",
                          "2 yes", "2 no", "12 no", "13 no", "14 no", "15 no",
                          "16 error", "17 no", "18 no", "19 yes"));
}

// A number that is cut to the size of an id would be another writer's.
TEST_F(IpcProtocolTest, WritersAndBuffersThatCannotBeAreRefused) {
  constexpr auto kRegister =
      static_cast<uint32_t>(ProducerMethod::kRegisterTraceWriter);
  constexpr auto kUnregister =
      static_cast<uint32_t>(ProducerMethod::kUnregisterTraceWriter);
  HostThread host(socket());
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  EXPECT_THAT(client.ReceiveTexts(2), ElementsAre("1 bound yes 12", "2 yes"));
  uint64_t request = 10;
  const auto answer_to = [&](uint32_t method, uint32_t writer,
                             uint32_t buffer) {
    client.Invoke<pb::RegisterTraceWriterRequest>(
        ++request, method, [&](pb::RegisterTraceWriterRequest* args) {
          args->set_trace_writer_id(writer);
          args->set_target_buffer(buffer);
        });
    return client.ReceiveText().substr(3);
  };
  for (const uint32_t method : {kRegister, kUnregister}) {
    EXPECT_EQ(answer_to(method, 1, 1), "yes");
    EXPECT_EQ(answer_to(method, kMaxWriterID, UINT16_MAX), "yes");
    for (const uint32_t writer :
         {uint32_t{0}, uint32_t{kMaxWriterID} + 1, uint32_t{1} << 16 | 1}) {
      EXPECT_EQ(answer_to(method, writer, 1), "no") << writer;
    }
  }
  EXPECT_EQ(answer_to(kRegister, 1, uint32_t{1} << 16 | 1), "no");
}

TEST_F(IpcProtocolTest, FramesThatAreNoMessagesAreIgnored) {
  HostThread host(socket());
  RawClient client(socket());
  client.SendBytes(RawClient::Framed("\x0f\xff garbage"));
  client.SendBytes(RawClient::Framed(""));
  client.SendBytes(
      RawClient::Framed(std::string(kMaxFramePayloadSize, '\xff')));
  client.Bind();
  EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
}

TEST_F(IpcProtocolTest, FramesThatAreTooLargeEndTheConnection) {
  HostThread host(socket());
  RawClient client(socket());
  RawClient other(socket());
  client.Bind();
  EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
  std::string header(4, '\0');
  WriteFrameHeader(kMaxFramePayloadSize + 1,
                   reinterpret_cast<uint8_t*>(&header[0]));
  client.SendBytes(header);
  EXPECT_EQ(client.ReceiveText(), "end");
  other.Bind();
  EXPECT_EQ(other.ReceiveText(), "1 bound yes 12");
}

TEST_F(IpcProtocolTest, ClientsThatDoNotReadAreDisconnected) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto source = std::make_shared<DataSource>(
      DataSourceDescriptor{kSourceName}, BufferExhaustedPolicy::kStall);
  Producer producer(Options());
  producer.RegisterDataSource(source);
  ASSERT_TRUE(producer.Sync(kTimeoutMs));

  RawClient client(socket());
  client.Bind();
  client.Initialize();
  HeapBuffered<pb::IPCFrame> frame;
  frame->set_request_id(5);
  auto* const invoke = frame->set_msg_invoke_method();
  invoke->set_service_id(1);
  invoke->set_method_id(kSync);
  const std::string sync = RawClient::Framed(frame.SerializeAsString());
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += sync;
  int rounds = 0;
  while (rounds < 1000 && client.SendBytes(many))
    ++rounds;
  EXPECT_LT(rounds, 1000);

  DataSourceWriters writers(source);
  WritePackets(&writers, 1, 0, 100);
  writers.Flush();
  EXPECT_EQ(Received(host.StopAndRead(session)), (Streams{{1, 100}}));
}

TEST_F(IpcProtocolTest, CommandsBeforeTheyAreAskedForAreLostButTheMemoryIsNot) {
  HostThread host(socket());
  host.Start();
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  RegisterSource(&client, 3);
  client.Invoke(4, kGetAsyncCommand);
  RegisterSource(&client, 5);
  EXPECT_THAT(client.ReceiveTexts(3),
              ElementsAre("1 bound yes 12", "2 yes", "3 yes"));
  EXPECT_EQ(client.ReceiveText(), "4 yes command setup_tracing 4");
  EXPECT_TRUE(SharedMemoryFile::Attach(client.TakeFd(),
                                       TracingLimits::kDefaultShmSize, true));
  EXPECT_THAT(
      client.ReceiveTexts(3),
      ElementsAre("4 yes command setup", "4 yes command start", "5 yes"));
}

TEST_F(IpcProtocolTest, MemoryOfTheProducersOwn) {
  HostThread host(socket());
  const TracingSessionID session = host.Start();
  const auto memory = SharedMemoryFile::Create(64 * 1024);
  RawClient client(socket());
  client.Bind();
  client.Initialize(/*own_memory=*/true, memory->fd());
  client.Invoke(3, kGetAsyncCommand);
  RegisterSource(&client, 4);
  EXPECT_THAT(
      client.ReceiveTexts(6),
      ElementsAre("1 bound yes 12", "2 yes", "3 yes command setup_tracing 0",
                  "3 yes command setup", "3 yes command start", "4 yes"));
  EXPECT_FALSE(client.TakeFd().is_valid());

  // Packets that were written to the memory before can be committed now.
  class Endpoint : public ProducerEndpoint {
   public:
    explicit Endpoint(RawClient* client) : client_(client) {}
    void CommitData(const CommitDataRequest& request) override {
      client_->Invoke<pb::CommitDataRequest>(
          5, kCommit, [&](pb::CommitDataRequest* message) {
            for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
              auto* const move = message->add_chunks_to_move();
              move->set_page(request.chunks_to_move[i].page);
              move->set_chunk(request.chunks_to_move[i].chunk);
              move->set_target_buffer(request.chunks_to_move[i].target_buffer);
            }
          });
    }

   private:
    RawClient* const client_;
  };
  Endpoint endpoint(&client);
  SharedMemoryArbiter arbiter(memory->start(), memory->size(), 4096, &endpoint);
  auto writer = arbiter.CreateTraceWriter(client.target_buffer());
  for (uint32_t i = 0; i < 3; ++i) {
    auto packet = writer->NewTracePacket();
    WriteNumberedPacket(1, i, 1000, packet.get());
  }
  writer->Flush();
  EXPECT_EQ(client.ReceiveText(), "5 yes");
  const std::string trace = host.Read(session);
  PacketChecker checker(1000);
  checker.AddTrace(trace);
  EXPECT_EQ(checker.received(), 3u);
  EXPECT_EQ(checker.errors(), "");
}

TEST_F(IpcProtocolTest, MemoryThatCanShrinkIsNotTaken) {
  HostThread host(socket());
  host.Start();
  const ScopedFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 64 * 1024), 0);
  RawClient client(socket());
  client.Bind();
  client.Initialize(/*own_memory=*/true, memory.get());
  client.Invoke(3, kGetAsyncCommand);
  RegisterSource(&client, 4);
  EXPECT_THAT(
      client.ReceiveTexts(3),
      ElementsAre("1 bound yes 12", "2 yes", "3 yes command setup_tracing 4"));
  EXPECT_TRUE(client.TakeFd().is_valid());
}

TEST_F(IpcProtocolTest, BytesInPiecesOfAnySize) {
  HostThread host(socket());
  HeapBuffered<pb::IPCFrame> frame;
  frame->set_request_id(1);
  frame->set_msg_bind_service()->set_service_name("ProducerPort");
  const std::string stream = RawClient::Framed(frame.SerializeAsString());
  for (size_t size = 1; size <= stream.size(); ++size) {
    RawClient client(socket());
    for (size_t begin = 0; begin < stream.size(); begin += size)
      ASSERT_TRUE(client.SendBytes(stream.substr(begin, size)));
    EXPECT_EQ(client.ReceiveText(), "1 bound yes 12");
  }
}

}  // namespace
}  // namespace protozero::test
