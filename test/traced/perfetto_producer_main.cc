// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A producer of known packets, or a service, of one of Perfetto's SDKs. Our
// library writes and reads packets in the same process. See versions_test.py.

#include <stdint.h>
#include <stdio.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/program/command_line.h"
#include "test/peers/perfetto_service.h"
#include "test/traced/perfetto_source.h"
#include "test/tracing/numbered_packets.h"

namespace {

using namespace protozero;

constexpr uint32_t kTimestampFieldId = 8;
constexpr uint32_t kEventFieldId = 900;

struct Flags {
  uint32_t threads = 2;
  uint32_t packets = 300;
  uint32_t max_size = 50000;
  uint32_t first_stream = 0;
  uint32_t pause_at = UINT32_MAX;
  std::string producer_socket;
  std::string consumer_socket;
};

void Say(const char* line) {
  printf("%s\n", line);
  fflush(stdout);
}

void WritePacket(uint32_t stream, uint32_t index, const Flags& flags) {
  HeapBuffered<Message> packet;
  test::WriteNumberedPacket(stream, index, flags.max_size, packet.get());
  const std::vector<uint8_t> bytes = packet.SerializeAsArray();
  ProtoDecoder decoder(bytes);
  WritePerfettoPacket(
      decoder.FindField(kTimestampFieldId).as_uint64(), kEventFieldId,
      decoder.FindField(kEventFieldId).as_bytes().ToStdStringView());
}

void WriteStream(uint32_t stream, const Flags& flags) {
  for (uint32_t index = 0; index < flags.packets; ++index) {
    if (index == flags.pause_at) {
      Say("paused");
      getchar();
    }
    WritePacket(stream, index, flags);
  }
}

int Write(const Flags& flags) {
  std::promise<void> started;
  // A packet that comes so late is in the trace only if the service waits.
  std::thread late;
  const uint32_t late_stream = flags.first_stream + flags.threads;
  RegisterPerfettoSource(
      [&] { started.set_value(); },
      [&](std::function<void()> done) {
        late = std::thread([&, done = std::move(done)] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          WritePacket(late_stream, 0, flags);
          done();
        });
      });
  Say("registered");
  started.get_future().wait();

  // The threads stay, so that it is the service that gets their last chunks.
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::promise<void>> written(flags.threads);
  std::vector<std::future<void>> threads;
  for (uint32_t i = 0; i < flags.threads; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] {
      WriteStream(flags.first_stream + i, flags);
      written[i].set_value();
      ended.wait();
    }));
  }
  for (uint32_t i = 0; i < flags.threads; ++i) {
    written[i].get_future().wait();
    printf("%u %u 0\n", flags.first_stream + i, flags.packets);
  }
  printf("%u 1 0\n", late_stream);
  Say("written");
  getchar();
  end.set_value();
  if (late.joinable())
    late.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  const program::Command write = {
      "perfetto_producer write",
      "[options]",
      "Waits for a session, writes packets, prints them, and waits for a line "
      "of input.\n",
      {{"--threads N", "default: 2", &flags.threads},
       {"--packets N", "for each thread; default: 300", &flags.packets},
       {"--max-size N", "of a packet, in bytes; default: 50000",
        &flags.max_size},
       {"--first-stream N", "default: 0", &flags.first_stream},
       {"--pause-at N", "wait for a line of input before this packet",
        &flags.pause_at}}};
  const program::Command serve = {
      "perfetto_producer serve",
      "PRODUCERS CONSUMERS",
      "Runs a service until it is killed.\n",
      {{"PRODUCERS", "the socket of producers", &flags.producer_socket},
       {"CONSUMERS", "the socket of consumers", &flags.consumer_socket}}};
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "write" && mode != "serve")
    return program::WrongUsage(write, "write or serve is missing");
  if (const auto exit_code =
          program::Parse(mode == "write" ? write : serve, argc - 1, argv + 1)) {
    return *exit_code;
  }
  if (mode == "write")
    return Write(flags);
  return RunPerfettoService(flags.producer_socket.c_str(),
                            flags.consumer_socket.c_str())
             ? 0
             : 1;
}
