// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// What a ServiceHost does with clients that are no Producer: that talk to it
// byte by byte, make mistakes, or do not listen.

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

namespace pb = tracing::pbzero;
using testing::ElementsAre;

// A client that says what the test wants it to.
class RawClient {
 public:
  explicit RawClient(const std::string& socket) {
    std::string error;
    socket_ = ConnectToUnixSocket(socket, &error);
    EXPECT_TRUE(socket_.is_valid()) << error;
  }

  template <typename Write>
  void Send(Write write, int fd = -1) {
    HeapBuffered<pb::IPCFrame> frame;
    write(frame.get());
    SendBytes(Framed(frame.SerializeAsString()), fd);
  }
  static std::string Framed(const std::string& payload) {
    std::string bytes(kFrameHeaderSize, '\0');
    WriteFrameHeader(payload.size(), reinterpret_cast<uint8_t*>(&bytes[0]));
    return bytes + payload;
  }
  // Waits while the socket takes no more; returns false if it is closed.
  bool SendBytes(const std::string& bytes, int fd = -1) {
    size_t begin = 0;
    while (begin < bytes.size()) {
      size_t sent;
      const SocketStatus status = SendToSocket(
          socket_.get(), reinterpret_cast<const uint8_t*>(bytes.data()) + begin,
          bytes.size() - begin, fd, &sent);
      begin += sent;
      if (status == SocketStatus::kClosed)
        return false;
      if (status == SocketStatus::kWouldBlock && !Poll(POLLOUT))
        return false;
    }
    return true;
  }
  void Bind(const std::string& name = "ProducerPort") {
    Send([&](pb::IPCFrame* frame) {
      frame->set_request_id(1);
      frame->set_msg_bind_service()->set_service_name(name);
    });
  }
  template <typename T = Message>
  void Invoke(
      uint64_t request_id,
      uint32_t method,
      const std::function<void(T*)>& write = [](T*) {},
      bool drop_reply = false,
      int fd = -1,
      uint32_t service = 1) {
    Send(
        [&](pb::IPCFrame* frame) {
          frame->set_request_id(request_id);
          auto* const invoke = frame->set_msg_invoke_method();
          invoke->set_service_id(service);
          invoke->set_method_id(method);
          invoke->set_drop_reply(drop_reply);
          write(invoke->BeginNestedMessage<T>(3));
        },
        fd);
  }
  void Initialize(bool own_memory = false, int fd = -1) {
    Invoke<pb::InitializeConnectionRequest>(
        2, 1,
        [&](pb::InitializeConnectionRequest* request) {
          request->set_producer_name("raw");
          request->set_producer_provided_shmem(own_memory);
          request->set_shared_memory_page_size_hint_bytes(4096);
        },
        false, fd);
  }

  // The payload of the next frame, or nothing at the end of the stream.
  std::string Receive() {
    ConstBytes payload;
    while (!reader_.NextFrame(&payload)) {
      const ContiguousMemoryRange range = reader_.BeginReceive();
      size_t size = 0;
      if (!Poll(POLLIN) ||
          ReceiveFromSocket(socket_.get(), range.begin, range.size(), &size,
                            &received_fd_) == SocketStatus::kClosed) {
        return "";
      }
      reader_.EndReceive(size);
    }
    return payload.ToStdString();
  }
  // What the next frame says, in short.
  std::string ReceiveText() {
    const std::string payload = Receive();
    if (payload.empty())
      return "end";
    const pb::IPCFrame::Decoder frame(payload);
    std::string text = std::to_string(frame.request_id());
    if (frame.has_msg_bind_service_reply()) {
      const pb::IPCFrame::BindServiceReply::Decoder reply(
          frame.msg_bind_service_reply());
      size_t methods = 0;
      for (auto it = reply.methods(); it; ++it)
        ++methods;
      text += std::string(" bound ") + (reply.success() ? "yes " : "no ") +
              std::to_string(methods);
    } else if (frame.has_msg_invoke_method_reply()) {
      const pb::IPCFrame::InvokeMethodReply::Decoder reply(
          frame.msg_invoke_method_reply());
      text += reply.success() ? " yes" : " no";
      if (reply.has_more())
        text += " command " + Command(reply.reply_proto());
    } else if (frame.has_msg_request_error()) {
      text += " error";
    }
    return text;
  }
  std::vector<std::string> ReceiveTexts(size_t count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i)
      texts.push_back(ReceiveText());
    return texts;
  }
  ScopedFd TakeFd() { return std::move(received_fd_); }
  // Of what came last, and named it.
  uint64_t instance_id() const { return instance_id_; }
  BufferID target_buffer() const { return target_buffer_; }

 private:
  bool Poll(short events) {
    pollfd fd{socket_.get(), events, 0};
    return poll(&fd, 1, kTimeoutMs) == 1;
  }
  std::string Command(ConstBytes bytes) {
    const pb::GetAsyncCommandResponse::Decoder command(bytes);
    if (command.has_setup_tracing()) {
      const pb::GetAsyncCommandResponse::SetupTracing::Decoder setup(
          command.setup_tracing());
      return "setup_tracing " +
             std::to_string(setup.shared_buffer_page_size_kb());
    }
    if (command.has_setup_data_source()) {
      const pb::GetAsyncCommandResponse::SetupDataSource::Decoder setup(
          command.setup_data_source());
      instance_id_ = setup.new_instance_id();
      target_buffer_ = static_cast<BufferID>(
          pb::DataSourceConfig::Decoder(setup.config()).target_buffer());
      return "setup";
    }
    return command.has_start_data_source()  ? "start"
           : command.has_stop_data_source() ? "stop"
           : command.has_flush()            ? "flush"
                                            : "other";
  }

  ScopedFd socket_;
  FrameReader reader_;
  ScopedFd received_fd_;
  uint64_t instance_id_ = 0;
  BufferID target_buffer_ = 0;
};

// Methods, by the ids that the host gives them.
enum : uint32_t {
  kInitialize = 1,
  kRegister = 2,
  kCommit = 4,
  kGetAsyncCommand = 5,
  kRegisterWriter = 6,
  kSync = 11,
};

void RegisterSource(RawClient* client, uint64_t request_id) {
  client->Invoke<pb::RegisterDataSourceRequest>(
      request_id, kRegister, [](pb::RegisterDataSourceRequest* request) {
        request->BeginNestedMessage<pb::DataSourceDescriptor>(1)->set_name(
            kSourceName);
      });
}

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

TEST_F(IpcProtocolTest, MistakesAreRefused) {
  HostThread host(socket());
  RawClient client(socket());
  client.Invoke(10, kSync);  // Not bound.
  client.Bind("producer_port");
  client.Bind();
  client.Invoke(11, kSync);  // Not initialized.
  client.Initialize();
  client.Initialize();   // Twice.
  client.Invoke(12, 0);  // No method.
  client.Invoke(13, 13);
  client.Invoke(14, UINT32_MAX);
  client.Invoke<Message>(15, kSync, [](Message*) {}, false, -1, /*service=*/2);
  client.Send([](pb::IPCFrame* frame) { frame->set_request_id(16); });
  // A commit before there is memory, and one that is malformed.
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
  EXPECT_TRUE(SharedMemoryFile::Attach(client.TakeFd(), 256 * 1024, true));
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

  // What was written to it before can be committed now.
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
