// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_HOSTILE_CLIENT_H_
#define TEST_TRACING_HOSTILE_CLIENT_H_

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"

namespace protozero::test {

inline constexpr char kHostileSourceName[] = "hostile";
inline constexpr size_t kHostilePages = 16;
inline constexpr size_t kHostilePageSize = 4096;

// A producer that follows the protocol until it has memory, and no further.
class HostileClient {
 public:
  HostileClient(const std::string& socket, uint64_t seed) : random_(seed) {
    std::string error;
    socket_ = ConnectToUnixSocket(socket, &error);
  }

  // Attacks the service until it is killed or disconnected.
  void Run() {
    if (!socket_.is_valid())
      return;
    uint64_t request_id = 0;
    Send([&](tracing::pbzero::IPCFrame* frame) {
      frame->set_request_id(++request_id);
      frame->set_msg_bind_service()->set_service_name("ProducerPort");
    });
    Invoke<tracing::pbzero::InitializeConnectionRequest>(
        ProducerMethod::kInitializeConnection, false, [](auto* request) {
          request->set_shared_memory_page_size_hint_bytes(kHostilePageSize);
          request->set_shared_memory_size_hint_bytes(kHostilePages *
                                                     kHostilePageSize);
          request->set_smb_scraping_mode(
              tracing::pbzero::InitializeConnectionRequest::
                  SMB_SCRAPING_ENABLED);
        });
    Invoke<Message>(ProducerMethod::kGetAsyncCommand, false, [](Message*) {});
    Invoke<tracing::pbzero::RegisterDataSourceRequest>(
        ProducerMethod::kRegisterDataSource, true, [](auto* request) {
          request
              ->template BeginNestedMessage<
                  tracing::pbzero::DataSourceDescriptor>(1)
              ->set_name(kHostileSourceName);
        });
    while (!received_fd_.is_valid()) {
      pollfd fd{socket_.get(), POLLIN, 0};
      poll(&fd, 1, -1);
      if (!Receive())
        return;
    }
    memory_ = SharedMemoryFile::Attach(std::move(received_fd_), 1 << 20, true);
    while (memory_ != nullptr && Receive()) {
      Scribble();
      Commit();
    }
  }

 private:
  // Throws away all that there is to read. Returns false if the connection is
  // gone.
  bool Receive() {
    uint8_t bytes[4096];
    for (;;) {
      size_t size = 0;
      switch (ReceiveFromSocket(socket_.get(), bytes, sizeof(bytes), &size,
                                &received_fd_)) {
        case SocketStatus::kOk:
          break;
        case SocketStatus::kWouldBlock:
          return true;
        case SocketStatus::kClosed:
          return false;
      }
    }
  }

  template <typename Write>
  void Send(Write write) {
    HeapBuffered<tracing::pbzero::IPCFrame> frame;
    write(frame.get());
    const std::string payload = frame.SerializeAsString();
    std::string bytes(kFrameHeaderSize, '\0');
    WriteFrameHeader(payload.size(), reinterpret_cast<uint8_t*>(&bytes[0]));
    bytes += payload;
    for (size_t begin = 0; begin < bytes.size();) {
      size_t sent = 0;
      if (SendToSocket(socket_.get(),
                       reinterpret_cast<const uint8_t*>(bytes.data()) + begin,
                       bytes.size() - begin, -1,
                       &sent) == SocketStatus::kClosed) {
        return;
      }
      begin += sent;
      if (begin < bytes.size()) {
        pollfd fd{socket_.get(), POLLOUT, 0};
        poll(&fd, 1, -1);
      }
    }
  }
  template <typename T, typename Write>
  void Invoke(ProducerMethod method, bool drop_reply, Write write) {
    Send([&](tracing::pbzero::IPCFrame* frame) {
      frame->set_request_id(1);
      auto* const invoke = frame->set_msg_invoke_method();
      invoke->set_service_id(1);
      invoke->set_method_id(static_cast<uint32_t>(method));
      invoke->set_drop_reply(drop_reply);
      write(invoke->template BeginNestedMessage<T>(3));
    });
  }

  uint32_t Below(uint32_t limit) {
    return static_cast<uint32_t>(random_() % 32 != 0 ? random_() % limit
                                                     : random_());
  }
  // Returns mostly the buffer of its data source, which is the second one of
  // all.
  uint32_t AnyBuffer() { return Below(8) != 0 ? 2 : Below(4); }
  std::atomic<uint32_t>& Word(size_t offset) {
    return reinterpret_cast<std::atomic<uint32_t>*>(
        memory_->start())[offset / 4];
  }

  void Scribble() {
    for (int i = 0; i < 200; ++i) {
      Word(random_() % (kHostilePages * kHostilePageSize)) =
          static_cast<uint32_t>(
              random_() & (random_() % 2 == 0 ? 0x8303018303 : UINT32_MAX));
    }
    for (size_t page = 0; page < kHostilePages; ++page) {
      const auto layout =
          static_cast<SharedMemoryABI::PageLayout>(random_() % 8);
      // Its chunks are all complete, or in any state.
      Word(page * kHostilePageSize) = static_cast<uint32_t>(
          layout << SharedMemoryABI::kLayoutShift |
          (random_() % 2 == 0 ? SharedMemoryABI::kAllChunksMask
                              : random_() & SharedMemoryABI::kAllChunksMask));
      const size_t chunk_size =
          SharedMemoryABI::ChunkSize(kHostilePageSize, layout);
      for (size_t i = 0; i < SharedMemoryABI::kNumChunksForLayout[layout];
           ++i) {
        const size_t header = page * kHostilePageSize + 8 + i * chunk_size;
        Word(header) = Below(100);
        Word(header + 4) = Below(8) | Below(64) << 16;
      }
    }
  }

  void Commit() {
    Invoke<tracing::pbzero::CommitDataRequest>(
        ProducerMethod::kCommitData, true, [this](auto* request) {
          for (uint32_t i = Below(100) % 1000; i > 0; --i) {
            auto* const move = request->add_chunks_to_move();
            move->set_page(Below(kHostilePages));
            move->set_chunk(Below(14));
            move->set_target_buffer(AnyBuffer());
          }
          for (uint32_t i = Below(10) % 100; i > 0; --i) {
            auto* const chunk = request->add_chunks_to_patch();
            chunk->set_target_buffer(AnyBuffer());
            chunk->set_trace_writer_id(Below(8));
            chunk->set_chunk_id(Below(100));
            auto* const patch = chunk->add_patches();
            patch->set_offset(Below(200));
            patch->set_data(std::string_view("abcd").substr(Below(16) == 0));
          }
          request->set_flush_request_id(Below(100));
        });
    const uint32_t writer_id = Below(8);
    switch (random_() % 16) {
      case 0:
        Invoke<tracing::pbzero::RegisterTraceWriterRequest>(
            ProducerMethod::kRegisterTraceWriter, true, [&](auto* request) {
              request->set_trace_writer_id(writer_id);
              request->set_target_buffer(AnyBuffer());
            });
        break;
      case 1:
        Invoke<tracing::pbzero::UnregisterTraceWriterRequest>(
            ProducerMethod::kUnregisterTraceWriter, true,
            [&](auto* request) { request->set_trace_writer_id(writer_id); });
        break;
    }
  }

  std::mt19937_64 random_;
  ScopedFd socket_;
  ScopedFd received_fd_;
  std::unique_ptr<SharedMemoryFile> memory_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_HOSTILE_CLIENT_H_
