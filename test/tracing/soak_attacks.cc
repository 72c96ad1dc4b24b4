// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The bad neighbours of the soak test.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/ipc/producer_methods.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "test/tracing/hostile_client.h"
#include "test/tracing/raw_client.h"
#include "test/tracing/soak_state.h"

namespace protozero::test {

namespace {

namespace pb = tracing::pbzero;
using ABI = SharedMemoryABI;
using Count = std::atomic<uint64_t>;
using ClientPtr = std::unique_ptr<RawClient>;

constexpr size_t kPageSize = 4096;

// Returns null if there is no service at the moment, or no place.
ClientPtr Connect(const std::string& socket) {
  std::string error;
  ScopedFd fd = ConnectToUnixSocket(socket, &error);
  if (!fd.is_valid()) {
    usleep(2000);
    return nullptr;
  }
  return std::make_unique<RawClient>(std::move(fd));
}

ClientPtr ConnectAndIntroduce(const std::string& socket) {
  ClientPtr client = Connect(socket);
  if (client != nullptr) {
    client->Bind();
    client->Initialize();
  }
  return client;
}

// Connects, and waits until its data source is recorded. Returns null if it
// does not get so far.
ClientPtr ConnectAndTrace(const std::string& socket,
                          const SharedMemoryFile& memory) {
  ClientPtr client = Connect(socket);
  if (client == nullptr)
    return nullptr;
  client->Bind();
  client->Initialize(/*own_memory=*/true, memory.fd());
  client->Invoke(3, kGetAsyncCommand);
  RegisterSource(client.get(), 4, kHostileSourceName);
  while (client->target_buffer() == 0) {
    if (client->ReceiveText() == "end")
      return nullptr;
  }
  return client;
}

// Returns whether attackers hold their places. They leave them all at the same
// time, so that a service without descriptors has some again.
bool IsTimeToHold() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count() % 2 == 0;
}

template <typename Open>
void HoldMany(size_t num, Count* count, Open open) {
  for (;;) {
    while (!IsTimeToHold())
      usleep(10000);
    std::vector<ClientPtr> held;
    while (IsTimeToHold()) {
      ClientPtr client;
      if (held.size() < num && (client = open()) != nullptr) {
        held.push_back(std::move(client));
        ++*count;
      } else {
        usleep(10000);
      }
    }
  }
}

void ConnectInALoop(const std::string& socket, uint64_t, Count* count) {
  for (;;)
    *count += Connect(socket) != nullptr;
}

void HoldSilently(const std::string& socket, uint64_t, Count* count) {
  HoldMany(1100, count, [&] { return Connect(socket); });
}

void HoldAndSendDescriptors(const std::string& socket, uint64_t, Count* count) {
  const ScopedFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  HoldMany(64, count, [&] {
    ClientPtr client = ConnectAndIntroduce(socket);
    if (client != nullptr)
      client->Invoke<Message>(3, kSync, [](Message*) {}, true, null.get());
    return client;
  });
}

void HoldMemory(const std::string& socket, uint64_t, Count* count) {
  HoldMany(4, count, [&] {
    ClientPtr client = Connect(socket);
    if (client == nullptr)
      return client;
    client->Bind();
    client->Invoke<pb::InitializeConnectionRequest>(
        2, kInitialize, [](pb::InitializeConnectionRequest* request) {
          request->set_shared_memory_size_hint_bytes(32 << 20);
          request->set_smb_scraping_mode(
              pb::InitializeConnectionRequest::SMB_SCRAPING_ENABLED);
        });
    client->Invoke(3, kGetAsyncCommand);
    RegisterSource(client.get(), 4, kHostileSourceName);
    return client;
  });
}

// Sends with |send| on many connections, again and again.
template <typename Send>
void Flood(const std::string& socket, size_t num, Count* count, Send send) {
  std::vector<ClientPtr> clients(num);
  for (;;) {
    for (ClientPtr& client : clients) {
      if (client == nullptr || client->is_broken())
        client = ConnectAndIntroduce(socket);
      if (client != nullptr)
        send(client.get());
      ++*count;
    }
  }
}

void UnregisterUnknown(const std::string& socket, uint64_t, Count* count) {
  Flood(socket, 40, count, [](RawClient* client) {
    for (int i = 0; i < 50 && !client->is_broken(); ++i) {
      client->Invoke<pb::UnregisterDataSourceRequest>(
          3, static_cast<uint32_t>(ProducerMethod::kUnregisterDataSource),
          [](pb::UnregisterDataSourceRequest* request) {
            request->set_data_source_name("nothing");
          },
          /*drop_reply=*/true);
    }
  });
}

void RegisterAndUnregister(const std::string& socket, uint64_t, Count* count) {
  Flood(socket, 4, count, [](RawClient* client) {
    for (int i = 0; i < 300 && !client->is_broken(); ++i) {
      const std::string name = i == 0
                                   ? kHostileSourceName
                                   : std::to_string(i) + std::string(1000, 'n');
      client->Invoke<pb::RegisterDataSourceRequest>(
          3, kRegister,
          [&](pb::RegisterDataSourceRequest* request) {
            request->BeginNestedMessage<pb::DataSourceDescriptor>(1)->set_name(
                name);
          },
          /*drop_reply=*/true);
    }
    for (int i = 0; i < 300 && !client->is_broken(); ++i) {
      client->Invoke<pb::UnregisterDataSourceRequest>(
          3, static_cast<uint32_t>(ProducerMethod::kUnregisterDataSource),
          [&](pb::UnregisterDataSourceRequest* request) {
            request->set_data_source_name(i == 0 ? kHostileSourceName
                                                 : std::to_string(i) +
                                                       std::string(1000, 'n'));
          },
          /*drop_reply=*/true);
    }
  });
}

// Never reads an answer, until it is disconnected.
void ReadNothing(const std::string& socket, uint64_t, Count* count) {
  Flood(socket, 8, count, [](RawClient* client) {
    for (int i = 0; i < 50 && !client->is_broken(); ++i)
      client->Invoke(3, kSync);
  });
}

// Sends a frame of the largest size on each connection, piece by piece.
void SendSlowly(const std::string& socket, uint64_t, Count* count) {
  Flood(socket, 12, count, [](RawClient* client) {
    std::string header(kFrameHeaderSize, '\0');
    WriteFrameHeader(kMaxFramePayloadSize,
                     reinterpret_cast<uint8_t*>(&header[0]));
    client->SendBytes(header + std::string(1000, '\0'));
    usleep(10000);
  });
}

void SendGarbage(const std::string& socket, uint64_t seed, Count* count) {
  std::mt19937_64 random(seed);
  const ScopedFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto bytes = [&](size_t max_size) {
    std::string result(random() % max_size, '\0');
    for (char& byte : result)
      byte = static_cast<char>(random());
    return result;
  };
  Flood(socket, 4, count, [&](RawClient* client) {
    const int fd = random() % 4 == 0 ? null.get() : -1;
    switch (random() % 8) {
      case 0:
        // Most of these bytes claim a length that is too large.
        client->SendBytes(bytes(100), fd);
        break;
      case 1:
        client->SendBytes(RawClient::Framed(bytes(2000)), fd);
        break;
      default:
        client->Send(
            [&](pb::IPCFrame* frame) {
              frame->set_request_id(random());
              auto* const invoke = frame->set_msg_invoke_method();
              invoke->set_service_id(1);
              invoke->set_method_id(
                  static_cast<uint32_t>(random() % (kNumProducerMethods + 2)));
              invoke->set_drop_reply(random() % 16 != 0);
              invoke->set_args_proto(bytes(60));
            },
            fd);
        break;
    }
    client->CountReceived();
  });
}

// Writes a chunk of a few bytes for each id that a writer can have, then again
// as another producer.
void BeManyWriters(const std::string& socket, uint64_t, Count* count) {
  constexpr size_t kPages = 32;
  for (;;) {
    const auto memory = SharedMemoryFile::Create(kPages * kPageSize);
    if (memory == nullptr)
      continue;
    const ClientPtr client = ConnectAndTrace(socket, *memory);
    if (client == nullptr)
      continue;
    const ABI abi(memory->start(), memory->size(), kPageSize);
    WriterID writer = 1;
    while (writer < kMaxWriterID && !client->is_broken()) {
      std::vector<ABI::Chunk> chunks;
      for (size_t page = 0; page < kPages; ++page) {
        abi.TryPartitionPage(page, ABI::kPageDiv14);
        while (writer < kMaxWriterID) {
          const ABI::Chunk chunk =
              abi.TryAcquireChunkForWriting(page, ABI::kPageDiv14);
          if (!chunk.is_valid())
            break;
          ABI::InitChunkForWriting(chunk, writer++, 0, 1);
          chunk.payload_begin()[0] = 2;
          chunk.payload_begin()[1] = 8;
          abi.ReleaseChunkAsComplete(chunk);
          chunks.push_back(chunk);
        }
      }
      client->Invoke<pb::CommitDataRequest>(
          5, kCommit, [&](pb::CommitDataRequest* request) {
            for (const ABI::Chunk& chunk : chunks) {
              auto* const move = request->add_chunks_to_move();
              move->set_page(static_cast<uint32_t>(chunk.page_idx()));
              move->set_chunk(static_cast<uint32_t>(chunk.chunk_idx()));
              move->set_target_buffer(client->target_buffer());
            }
          });
      *count += chunks.size();
      for (std::string answer; answer != "5 yes";) {
        answer = client->ReceiveText();
        if (answer == "end")
          break;
        if (answer == "5 no")
          break;
      }
      if (chunks.empty())
        break;
    }
  }
}

void ReportAbsurdLosses(const std::string& socket,
                        uint64_t seed,
                        Count* count) {
  std::mt19937_64 random(seed);
  const auto number = [&] {
    return random() % 2 == 0 ? UINT64_MAX - random() % 2 : random() % 100;
  };
  for (;;) {
    const auto memory = SharedMemoryFile::Create(4 * kPageSize);
    if (memory == nullptr)
      continue;
    const ClientPtr client = ConnectAndTrace(socket, *memory);
    while (client != nullptr && !client->is_broken()) {
      client->Invoke<pb::CommitDataRequest>(
          5, kCommit,
          [&](pb::CommitDataRequest* request) {
            for (int i = 0; i < 100; ++i) {
              auto* const losses = request->add_writer_losses();
              losses->set_trace_writer_id(
                  static_cast<uint32_t>(random() % (kMaxWriterID + 2)));
              // The first buffer belongs to the well-behaved producers.
              losses->set_target_buffer(
                  random() % 2 == 0 ? 1 : client->target_buffer());
              losses->set_reason(static_cast<uint32_t>(random() % 12));
              losses->set_packets(number());
              losses->set_begun(number());
              losses->set_bytes(number());
            }
          },
          /*drop_reply=*/true);
      client->CountReceived();
      ++*count;
    }
  }
}

// Writes anything to its memory. Commits chunks and patches that are not its
// own, to buffers that are not its own, either.
void Scribble(const std::string& socket, uint64_t seed, Count* count) {
  for (;; ++seed) {
    ++*count;
    HostileClient(socket, seed).Run();
    usleep(2000);
  }
}

}  // namespace

const SoakAttack kSoakAttacks[kNumSoakAttacks] = {
    {"connect and close", 2, ConnectInALoop},
    {"hold connections and say nothing", 1, HoldSilently},
    {"hold connections and send descriptors", 4, HoldAndSendDescriptors},
    {"hold much memory", 2, HoldMemory},
    {"unregister unknown data sources", 1, UnregisterUnknown},
    {"register and unregister", 1, RegisterAndUnregister},
    {"read no replies", 1, ReadNothing},
    {"send frames slowly", 1, SendSlowly},
    {"send garbage", 1, SendGarbage},
    {"be 32767 writers", 3, BeManyWriters},
    {"report absurd losses", 1, ReportAbsurdLosses},
    {"scribble over the memory", 2, Scribble},
};

}  // namespace protozero::test
