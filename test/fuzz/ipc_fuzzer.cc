// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Sends messages of a producer to the service, and writes to its memory in
// between. The bits of the first byte choose the start:
//   bit 0  the producer has bound and initialized itself, and registered the
//          data source "a" with the service, where two sessions ask for it
//   bit 1  the producer does not read the answers
// Then operations follow, of one byte:
//   bits 0 to 3  0 to 12: the call of a method, 13: bytes, 14: a frame, 15: a
//                write to the memory; the next two bytes times four are its
//                address
//   bit 4        no wait for an answer
//   bit 5        a file descriptor comes with it
//   bit 6        the file descriptor is good for shared memory
// and a length of one byte, and that many bytes: the method's arguments, the
// frame, or the bytes to write. After any input, the output is a trace.
// frame, or the bytes to write. After any input, the output is a trace.

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/producer_ipc_service.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"
#include "test/fuzz/check.h"

namespace {

using protozero::test::Check;
using namespace protozero;
namespace pb = tracing::pbzero;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : pos_(data), end_(data + size) {}

  bool is_at_end() const { return pos_ == end_; }
  uint8_t TakeByte() { return is_at_end() ? 0 : *pos_++; }
  ConstBytes TakeBytes(size_t size) {
    size = std::min(size, static_cast<size_t>(end_ - pos_));
    pos_ += size;
    return ConstBytes(pos_ - size, size);
  }

 private:
  const uint8_t* pos_;
  const uint8_t* end_;
};

class FuzzedProducer {
 public:
  FuzzedProducer() {
    int fds[2];
    Check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                     fds) == 0,
          "no sockets");
    here_.Reset(fds[0]);
    host_.reset(new ProducerIpcService(
        &service_, ScopedFd(fds[1]), {1, 2},
        /*max_queued_bytes=*/4096, &wakeup_, &memory_reserve_,
        /*flight_source=*/nullptr, &commit_reader_));
    for (TracingSessionID& session : sessions_) {
      TraceConfig config;
      config.buffers.push_back({16 * 1024, BufferFillPolicy::kRingBuffer});
      config.data_sources.emplace_back();
      config.data_sources[0].config.name = "a";
      std::string error;
      session = service_.StartTracing(config, nullptr, &error);
      Check(session != 0, error.c_str());
    }
  }
  ~FuzzedProducer() {
    for (const TracingSessionID session : sessions_)
      service_.StopTracing(session);
    Deliver();
    host_.reset();
    time_ms_ += 1000 * 1000;
    service_.RunDue();
    for (const TracingSessionID session : sessions_) {
      Check(service_.GetState(session) == TracingService::kStopped,
            "the session goes on");
      std::string trace;
      service_.ReadPackets(session, [&](const uint8_t* data, size_t size) {
        trace.append(reinterpret_cast<const char*>(data), size);
        return true;
      });
      CheckTrace(trace);
      service_.CloseSession(session);
    }
  }

  void Begin() {
    HeapBuffered<pb::IPCFrame> frame;
    frame->set_msg_bind_service()->set_service_name(kProducerServiceName);
    SendFrame(frame.SerializeAsArray(), -1);
    Invoke(static_cast<uint32_t>(ProducerMethod::kInitializeConnection),
           ConstBytes(), false, -1);
    Invoke(static_cast<uint32_t>(ProducerMethod::kGetAsyncCommand),
           ConstBytes(), false, -1);
    HeapBuffered<pb::RegisterDataSourceRequest> request;
    request->set_data_source_descriptor()->set_name("a");
    Invoke(static_cast<uint32_t>(ProducerMethod::kRegisterDataSource),
           request.SerializeAsArray(), false, -1);
  }

  void Do(uint8_t operation, Input* input) {
    ScopedFd fd;
    if (operation & 0x20) {
      fd.Reset(memfd_create("fuzzer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      Check(ftruncate(fd.get(), 16 * 1024) == 0, "no memory");
      if (operation & 0x40)
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
    }
    const uint32_t code = operation & 0x0f;
    size_t offset = 0;
    if (code == 15) {
      offset = input->TakeByte();
      offset = 4 * (offset << 8 | input->TakeByte());
    }
    const size_t size = input->TakeByte();
    const ConstBytes bytes = input->TakeBytes(size);
    if (code <= kNumProducerMethods) {
      Invoke(code, bytes, (operation & 0x10) != 0, fd.get());
    } else if (code == 13) {
      Send(bytes.data, bytes.size, fd.get());
    } else if (code == 14) {
      SendFrame(bytes, fd.get());
    } else if (memory_ != nullptr && offset < memory_->size()) {
      memcpy(memory_->start() + offset, bytes.data,
             std::min(bytes.size, memory_->size() - offset));
    }
  }

  // Lets the host read its socket, and the producer the answers.
  void Deliver() {
    // A turn is shorter than a message.
    constexpr TurnShare kShare = {2, 512};
    while (!host_->is_broken() &&
           (host_->has_more() || IsReadable(host_->socket()))) {
      host_->TakeTurn(kShare);
    }
    if (!reads_)
      return;
    host_->SendQueued();
    uint8_t bytes[4096];
    size_t size;
    ScopedFd fd;
    while (IsReadable(here_.get()) &&
           ReceiveFromSocket(here_.get(), bytes, sizeof(bytes), &size, &fd) ==
               SocketStatus::kOk) {
      host_->SendQueued();
    }
    if (fd.is_valid() && memory_ == nullptr) {
      memory_ = SharedMemoryFile::Attach(std::move(fd), SIZE_MAX, true);
      Check(memory_ != nullptr, "memory that is no good");
    }
  }

  void DoNotRead() { reads_ = false; }
  bool is_broken() const { return host_->is_broken(); }

 private:
  static bool IsReadable(int fd) {
    pollfd poll_fd{fd, POLLIN, 0};
    return poll(&poll_fd, 1, 0) == 1;
  }

  void Send(const uint8_t* data, size_t size, int fd) {
    size_t sent;
    SendToSocket(here_.get(), data, size, fd, &sent);
    Deliver();
  }
  void SendFrame(ConstBytes payload, int fd) {
    uint8_t header[kFrameHeaderSize];
    WriteFrameHeader(payload.size, header);
    Send(header, sizeof(header), fd);
    Send(payload.data, payload.size, -1);
  }
  void Invoke(uint32_t method, ConstBytes args, bool drop_reply, int fd) {
    HeapBuffered<pb::IPCFrame> frame;
    frame->set_request_id(++request_id_);
    auto* const invocation = frame->set_msg_invoke_method();
    invocation->set_service_id(1);
    invocation->set_method_id(method);
    invocation->set_args_proto(args);
    invocation->set_drop_reply(drop_reply);
    SendFrame(frame.SerializeAsArray(), fd);
  }

  static void CheckTrace(const std::string& trace) {
    ProtoDecoder decoder(trace);
    for (Field packet = decoder.ReadField(); packet;
         packet = decoder.ReadField()) {
      Check(packet.id() == 1, "a field that is no packet");
      ProtoDecoder packet_decoder(packet.as_bytes());
      while (packet_decoder.ReadField()) {
      }
      Check(packet_decoder.status() == DecodeStatus::kOk,
            "a packet is malformed");
    }
    Check(decoder.status() == DecodeStatus::kOk, "the trace is malformed");
  }

  uint64_t time_ms_ = 0;
  TracingService service_{[this] { return time_ms_; }};
  WakeupFd wakeup_;
  DescriptorReserve memory_reserve_;
  CommitDataReader commit_reader_;
  TracingSessionID sessions_[2];
  ScopedFd here_;
  std::unique_ptr<ProducerIpcService> host_;
  std::unique_ptr<SharedMemoryFile> memory_;
  bool reads_ = true;
  uint64_t request_id_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t choice = input.TakeByte();
  FuzzedProducer producer;
  if (choice & 1)
    producer.Begin();
  if (choice & 2)
    producer.DoNotRead();
  while (!input.is_at_end() && !producer.is_broken()) {
    const uint8_t operation = input.TakeByte();
    producer.Do(operation, &input);
  }
  return 0;
}
