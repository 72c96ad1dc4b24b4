// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_RAW_CLIENT_H_
#define TEST_TRACING_RAW_CLIENT_H_

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "test/tracing/ipc_testing.h"

namespace protozero::test {

// A client that sends whatever the test wants, or the other end of one.
class RawClient {
 public:
  explicit RawClient(ScopedFd socket) : socket_(std::move(socket)) {}
  explicit RawClient(const std::string& socket) {
    std::string error;
    socket_ = ConnectToUnixSocket(socket, &error);
    EXPECT_TRUE(socket_.is_valid()) << error;
  }

  template <typename Write>
  void Send(Write write, int fd = -1) {
    HeapBuffered<tracing::pbzero::IPCFrame> frame;
    write(frame.get());
    SendBytes(Framed(frame.SerializeAsString()), fd);
  }
  static std::string Framed(const std::string& payload) {
    std::string bytes(kFrameHeaderSize, '\0');
    WriteFrameHeader(payload.size(), reinterpret_cast<uint8_t*>(&bytes[0]));
    return bytes + payload;
  }
  // Sends bytes. Waits while the socket takes no more; returns false if it is
  // closed.
  bool SendBytes(const std::string& bytes, int fd = -1) {
    size_t begin = 0;
    while (begin < bytes.size()) {
      size_t sent;
      const SocketStatus status = SendToSocket(
          socket_.get(), reinterpret_cast<const uint8_t*>(bytes.data()) + begin,
          bytes.size() - begin, fd, &sent);
      begin += sent;
      if (status == SocketStatus::kClosed ||
          (status == SocketStatus::kWouldBlock && !Poll(POLLOUT))) {
        is_broken_ = true;
        return false;
      }
    }
    return true;
  }
  // Returns whether something could not be sent.
  bool is_broken() const { return is_broken_; }
  void Bind(const std::string& name = "ProducerPort") {
    Send([&](tracing::pbzero::IPCFrame* frame) {
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
        [&](tracing::pbzero::IPCFrame* frame) {
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
    Invoke<tracing::pbzero::InitializeConnectionRequest>(
        2, 1,
        [&](tracing::pbzero::InitializeConnectionRequest* request) {
          request->set_producer_name("raw");
          request->set_producer_provided_shmem(own_memory);
          request->set_shared_memory_page_size_hint_bytes(4096);
        },
        false, fd);
  }

  // Returns the payload of the next frame, or nothing at the end of the stream.
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
  // Returns whether Receive() has something to receive, if only the end.
  bool HasReceived() {
    pollfd fd{socket_.get(), POLLIN, 0};
    return reader_.HasFrame() || poll(&fd, 1, 0) == 1;
  }
  // Returns the content of the next frame, in short.
  std::string ReceiveText() {
    const std::string payload = Receive();
    if (payload.empty())
      return "end";
    const tracing::pbzero::IPCFrame::Decoder frame(payload);
    std::string text = std::to_string(frame.request_id());
    if (frame.has_msg_bind_service_reply()) {
      const tracing::pbzero::IPCFrame::BindServiceReply::Decoder reply(
          frame.msg_bind_service_reply());
      size_t methods = 0;
      for (auto it = reply.methods(); it; ++it)
        ++methods;
      text += std::string(" bound ") + (reply.success() ? "yes " : "no ") +
              std::to_string(methods);
    } else if (frame.has_msg_invoke_method_reply()) {
      const tracing::pbzero::IPCFrame::InvokeMethodReply::Decoder reply(
          frame.msg_invoke_method_reply());
      text += reply.success() ? " yes" : " no";
      if (reply.has_more())
        text += " command " + Command(reply.reply_proto());
    } else if (frame.has_msg_request_error()) {
      text += " error";
    }
    return text;
  }
  // Counts the frames that have come, without waiting for more.
  size_t CountReceived() {
    size_t count = 0;
    for (;;) {
      ConstBytes payload;
      while (reader_.NextFrame(&payload))
        ++count;
      const ContiguousMemoryRange range = reader_.BeginReceive();
      size_t size = 0;
      const SocketStatus status = ReceiveFromSocket(
          socket_.get(), range.begin, range.size(), &size, &received_fd_);
      reader_.EndReceive(size);
      if (status != SocketStatus::kOk)
        return count;
    }
  }
  // Returns whether the other end has closed the connection. REQUIRES:
  // everything that it has sent was received.
  bool IsClosed() {
    uint8_t byte;
    size_t size = 0;
    return ReceiveFromSocket(socket_.get(), &byte, 1, &size, &received_fd_) ==
           SocketStatus::kClosed;
  }
  std::vector<std::string> ReceiveTexts(size_t count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i)
      texts.push_back(ReceiveText());
    return texts;
  }
  ScopedFd TakeFd() { return std::move(received_fd_); }
  // Return the ids in the last frame that named some.
  uint64_t instance_id() const { return instance_id_; }
  BufferID target_buffer() const { return target_buffer_; }

 private:
  bool Poll(short events) {
    pollfd fd{socket_.get(), events, 0};
    return poll(&fd, 1, kTimeoutMs) == 1;
  }
  std::string Command(ConstBytes bytes) {
    const tracing::pbzero::GetAsyncCommandResponse::Decoder command(bytes);
    if (command.has_setup_tracing()) {
      const tracing::pbzero::GetAsyncCommandResponse::SetupTracing::Decoder
          setup(command.setup_tracing());
      return "setup_tracing " +
             std::to_string(setup.shared_buffer_page_size_kb());
    }
    if (command.has_setup_data_source()) {
      const tracing::pbzero::GetAsyncCommandResponse::SetupDataSource::Decoder
          setup(command.setup_data_source());
      instance_id_ = setup.new_instance_id();
      target_buffer_ = static_cast<BufferID>(
          tracing::pbzero::DataSourceConfig::Decoder(setup.config())
              .target_buffer());
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
  bool is_broken_ = false;
};

// The methods, by the ids that the host gives them.
enum : uint32_t {
  kInitialize = 1,
  kRegister = 2,
  kCommit = 4,
  kGetAsyncCommand = 5,
  kRegisterWriter = 6,
  kSync = 11,
};

inline void RegisterSource(RawClient* client,
                           uint64_t request_id,
                           const std::string& name = kSourceName) {
  client->Invoke<tracing::pbzero::RegisterDataSourceRequest>(
      request_id, kRegister,
      [&](tracing::pbzero::RegisterDataSourceRequest* request) {
        request->BeginNestedMessage<tracing::pbzero::DataSourceDescriptor>(1)
            ->set_name(name);
      });
}

}  // namespace protozero::test

#endif  // TEST_TRACING_RAW_CLIENT_H_
