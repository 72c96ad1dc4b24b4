// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writers and what takes their chunks: src/tracing/writer, and PacketReader.

#include <string.h>

#include <memory>

#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/shared_memory/chunk_reader.h"
#include "src/tracing/writer/patch_in_place.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = ABI::kMinPageSize;
constexpr int kMaxPackets = 3;

// Packets are two bytes: a field, and their number among those of the writer.
constexpr uint32_t kFieldId = 1;
constexpr size_t kPacketSize = 2;

struct Memory {
  alignas(8) uint8_t memory[kPageSize] = {};
  const ABI abi{memory, kPageSize, kPageSize};

  explicit Memory(ABI::PageLayout layout) {
    for (size_t i = 0; i < ABI::kNumChunksForLayout[layout]; ++i) {
      const ABI::Chunk chunk = abi.GetChunkUnchecked(
          0, static_cast<uint32_t>(layout) << ABI::kLayoutShift, i);
      DeclareBytes(chunk.payload_begin(), chunk.payload_size(), false);
    }
  }
};

SharedMemoryArbiter::Options MakeOptions(ABI::PageLayout layout) {
  SharedMemoryArbiter::Options options;
  options.page_layout = layout;
  options.process_barrier = &ProcessBarrier;
  return options;
}

void WritePacket(TraceWriter* writer, int number) {
  writer->NewTracePacket<Message>()->AppendVarInt(kFieldId, number);
}

// Checks packets that were copied from a chunk.
void CheckPackets(const ChunkCopy& copy, int first) {
  Check(copy.payload.size() >= copy.num_packets * (1 + kPacketSize),
        "the packets are there");
  for (size_t i = 0; i < copy.num_packets; ++i) {
    const uint8_t* const packet = &copy.payload[i * (1 + kPacketSize)];
    Check(packet[0] == kPacketSize && packet[1] == kFieldId << 3 &&
              packet[2] == first + static_cast<int>(i),
          "a packet is whole");
  }
}

// Receives the chunks that the arbiter commits, on any thread.
struct Service : Memory, ProducerEndpoint {
  explicit Service(ABI::PageLayout layout)
      : Memory(layout),
        arbiter(memory, kPageSize, kPageSize, this, MakeOptions(layout)) {}
  void CommitData(const CommitDataRequest& request) override {
    // A data race, if two threads are here.
    ++num_commits;
    for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
      const ABI::Chunk chunk =
          abi.TryAcquireChunkForReading(0, request.chunks_to_move[i].chunk);
      Check(chunk.is_valid(), "a chunk is committed once");
      ChunkCopy copy;
      CopySharedChunk(chunk, &copy);
      if (copy.num_packets != 0 && copy.payload[0] == 0)
        copy.num_packets = 0;
      // The packet that was counted and never came is an empty one.
      while (copy.num_packets != 0 &&
             copy.payload[(copy.num_packets - 1u) * (1 + kPacketSize)] == 0) {
        --copy.num_packets;
      }
      Check(copy.writer_id == 1 || copy.writer_id == 2, "it has a writer");
      CheckPackets(copy, packets[copy.writer_id]);
      packets[copy.writer_id] += copy.num_packets;
      abi.ReleaseChunkAsFree(chunk);
    }
    for (size_t i = 0; i < request.num_losses; ++i) {
      lost += request.losses[i].packets;
      lost_bytes += request.losses[i].bytes;
    }
  }

  SharedMemoryArbiter arbiter;
  int num_commits = 0;
  int packets[3] = {};
  uint64_t lost = 0;
  uint64_t lost_bytes = 0;
};

// A service scrapes the chunk of a writer that goes on.
struct ScrapeWriter : Service {
  std::unique_ptr<TraceWriter> writer;
  ScrapeWriter() : Service(ABI::kPageDiv14) {
    writer = arbiter.CreateTraceWriter(1);
  }
  void Run(int thread) {
    if (thread == 0) {
      for (int i = 0; i < 2; ++i)
        WritePacket(writer.get(), i);
      return;
    }
    ChunkCopy copy;
    if (ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy)) {
      Check(copy.writer_id == 1 && copy.chunk_id == 0, "it has its writer");
      CheckPackets(copy, 0);
    }
  }
  void End() {
    writer.reset();
    Check(packets[1] == 2, "all packets arrive");
  }
};

// Two threads finish chunks and commit.
struct Commits : Service {
  std::unique_ptr<TraceWriter> writers[2];
  Commits() : Service(ABI::kPageDiv14) {
    for (auto& writer : writers) {
      writer = arbiter.CreateTraceWriter(1);
      WritePacket(writer.get(), 0);
    }
  }
  void Run(int thread) {
    writers[thread]->ReturnChunk();
    arbiter.FlushPendingCommitDataRequests();
  }
  void End() {
    Check(packets[1] == 1 && packets[2] == 1, "all packets are committed");
  }
};

// A thread waits until everything of its writer is committed, perhaps by
// another thread.
struct Flush : Service {
  std::unique_ptr<TraceWriter> writer;
  Flush() : Service(ABI::kPageDiv14) {
    writer = arbiter.CreateTraceWriter(1);
    WritePacket(writer.get(), 0);
    writer->ReturnChunk();
  }
  void Run(int thread) {
    if (thread == 0) {
      arbiter.FlushPendingCommitDataRequestsAndWait();
      Check(packets[1] == 1, "the packet is committed");
    } else {
      arbiter.FlushPendingCommitDataRequests();
    }
  }
  void End() {}
};

SharedMemoryArbiter::Options MakeWaitingOptions() {
  SharedMemoryArbiter::Options options = MakeOptions(ABI::kPageDiv14);
  options.owner_commits = true;
  // Each finished chunk is a batch.
  options.commit_batch_bytes = ABI::ChunkSize(kPageSize, ABI::kPageDiv14);
  return options;
}

// A writer finishes a chunk while the thread that commits begins to wait, and
// ends that wait for another reason.
struct WaitingOwner : Service {
  using WakeFor = SharedMemoryArbiter::WakeFor;
  SharedMemoryArbiter waiting{memory, kPageSize, kPageSize, this,
                              MakeWaitingOptions()};
  std::unique_ptr<TraceWriter> writer = waiting.CreateTraceWriter(1);
  // Stands for the descriptors, which the owner changes while it does not wait.
  bool is_waiting = false;
  WaitingOwner() : Service(ABI::kPageDiv14) {
    WritePacket(writer.get(), 0);
    waiting.TakeWork();
  }
  void WakeOwner() override { Check(is_waiting, "the owner waits"); }
  void Run(int thread) {
    if (thread == 0) {
      writer->ReturnChunk();
      return;
    }
    if (waiting.TakeWork()) {
      waiting.CommitBatch();
      Check(packets[1] == 1, "the work is there");
    }
    is_waiting = true;
    if (waiting.BeginWait(WakeFor::kAnyWork))
      waiting.EndWait();
    is_waiting = false;
  }
  void End() {
    waiting.FlushPendingCommitDataRequests();
    Check(packets[1] == 1, "the packet is committed");
  }
};

// The same, if the thread waits for a batch and nothing else ends the wait.
struct WaitsForBatch : WaitingOwner {
  bool waits = false;
  void WakeOwner() override {}
  void Run(int thread) {
    if (thread == 0)
      writer->ReturnChunk();
    else
      waits = waiting.BeginWait(WakeFor::kBatch);
  }
  void End() {
    Check(!waits || waiting.num_wakeups() == 1, "a writer wakes the owner");
    WaitingOwner::End();
  }
};

// A thread takes back the chunk of a writer that may go on.
struct Reclaim : Service {
  std::unique_ptr<TraceWriter> writer;
  Reclaim() : Service(ABI::kPageDiv14) {
    writer = arbiter.CreateTraceWriter(1);
    WritePacket(writer.get(), 0);
  }
  void Run(int thread) {
    if (thread == 0)
      WritePacket(writer.get(), 1);
    else
      arbiter.ReturnIdleChunks(/*even_if_recent=*/true);
  }
  void End() {
    writer.reset();
    Check(packets[1] == 2, "all packets arrive");
  }
};

// A writer loses packets while another thread reports losses.
struct Losses : Service {
  std::unique_ptr<TraceWriter> writer;
  Losses() : Service(ABI::kPageDiv1) {
    abi.TryPartitionPage(0, ABI::kPageDiv1);
    abi.TryAcquireChunkForWriting(0, ABI::kPageDiv1);
    writer = arbiter.CreateTraceWriter(1);
    // The first loss is reported at once.
    WritePacket(writer.get(), 0);
  }
  void Run(int thread) {
    if (thread == 0) {
      WritePacket(writer.get(), 1);
      WritePacket(writer.get(), 2);
    } else {
      arbiter.FlushPendingCommitDataRequests();
    }
  }
  void End() {
    arbiter.FlushPendingCommitDataRequests();
    Check(lost == 3 && lost_bytes == 3 * kPacketSize, "losses are reported");
  }
};

// A message goes on in another chunk. Its size is committed as a patch.
struct Patches : Memory, ProducerEndpoint {
  SharedMemoryArbiter arbiter{memory, kPageSize, kPageSize, this,
                              MakeOptions(ABI::kPageDiv2)};
  std::unique_ptr<TraceWriter> writer;
  uint8_t bytes[kPageSize / 2] = {};
  uint64_t num_chunks = 0;
  uint64_t num_patches = 0;
  Patches() : Memory(ABI::kPageDiv2) { writer = arbiter.CreateTraceWriter(1); }
  void CommitData(const CommitDataRequest& request) override {
    num_chunks += request.num_chunks_to_move;
    for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
      const CommitDataRequest::ChunkToPatch& chunk = request.chunks_to_patch[i];
      num_patches += chunk.num_patches;
      Check(num_chunks != 0, "a chunk comes before its patches");
      Check(chunk.patches[0].data[0] != 0, "the size is known");
    }
  }
  void Run(int thread) {
    if (thread == 0) {
      auto packet = writer->NewTracePacket<Message>();
      packet->BeginNestedMessage<Message>(1)->AppendBytes(1, bytes,
                                                          sizeof(bytes));
    } else {
      arbiter.FlushPendingCommitDataRequests();
    }
  }
  void End() {
    arbiter.FlushPendingCommitDataRequests();
    Check(num_patches == 1, "the patch is committed");
  }
};

// A reader takes the packets of a writer out of its memory.
struct InPlace : Memory {
  InPlaceEndpoint endpoint{memory, kPageSize, kPageSize};
  SharedMemoryArbiter arbiter{memory, kPageSize, kPageSize, &endpoint,
                              MakeOptions(ABI::kPageDiv14)};
  std::unique_ptr<TraceWriter> writer;
  PacketReader reader{abi};
  int num_packets = 0;
  InPlace() : Memory(ABI::kPageDiv14) { writer = arbiter.CreateTraceWriter(1); }
  void Read() {
    PacketReader::Packet packet;
    if (!reader.TryNext(&packet))
      return;
    Check(packet.bytes.size == kPacketSize && packet.writer_id == 1 &&
              packet.bytes.data[1] == num_packets &&
              !packet.previous_packet_dropped,
          "packets come whole, and in order");
    ++num_packets;
  }
  void Run(int thread) {
    if (thread == 0) {
      WritePacket(writer.get(), 0);
      writer->Flush();
    } else {
      Read();
      Read();
    }
  }
  void End() {
    WritePacket(writer.get(), 1);
    writer->Flush();
    for (int i = 0; i < kMaxPackets; ++i)
      Read();
    Check(num_packets == 2, "all packets are read");
    Check(reader.stats().chunks_corrupt == 0, "all chunks are whole");
    Check(abi.GetPageWord(0) == 0, "all chunks are free");
  }
};

// The chunk that was read becomes the writer's next one.
struct InPlaceReused : InPlace {
  InPlaceReused() {
    WritePacket(writer.get(), 0);
    writer->ReturnChunk();
    Read();
  }
  void Run(int thread) {
    if (thread == 0) {
      arbiter.FlushPendingCommitDataRequests();
      WritePacket(writer.get(), 1);
    } else {
      // Finds the end of the chunk.
      Read();
    }
  }
  void End() {
    writer->Flush();
    for (int i = 0; i < kMaxPackets; ++i)
      Read();
    Check(num_packets == 2, "all packets are read");
    Check(reader.stats().chunks_corrupt == 0, "all chunks are whole");
    Check(reader.stats().chunk_gaps == 0, "no chunk is missing");
  }
};

// The size of a message is stored into a complete chunk.
struct PatchedInPlace : Memory {
  PacketReader reader{abi};
  int num_packets = 0;
  PatchedInPlace() : Memory(ABI::kPageDiv14) {
    abi.TryPartitionPage(0, ABI::kPageDiv14);
    const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv14);
    ABI::InitChunkForWriting(chunk, 1, 0, 1 | ABI::kChunkNeedsPatching);
    const uint8_t fragment[] = {5, 0xa, 0, 0, 0, 0};
    memcpy(chunk.payload_begin(), fragment, sizeof(fragment));
    abi.ReleaseChunkAsComplete(chunk);
  }
  void Run(int thread) {
    if (thread == 0) {
      const CommitDataRequest::Patch patch = {2, {0x83, 0x80, 0x80, 0}};
      PatchInPlace(abi, ABI::kChunkComplete, {1, 1, 0, &patch, 1});
      return;
    }
    PacketReader::Packet packet;
    if (reader.TryNext(&packet)) {
      Check(packet.bytes.data[1] == 0x83, "the size is known");
      ++num_packets;
    }
  }
  void End() {}
};

// The chunk of one writer becomes that of another one, whose id is the next.
struct InPlaceTaken : InPlace {
  std::unique_ptr<TraceWriter> other = arbiter.CreateTraceWriter(1);
  InPlaceTaken() {
    for (TraceWriter* const each : {other.get(), writer.get()}) {
      WritePacket(each, 0);
      each->Flush();
      PacketReader::Packet packet;
      Check(reader.TryNext(&packet), "the packet is read");
      // Finds the end of the chunk.
      reader.TryNext(&packet);
    }
  }
  void Run(int thread) {
    PacketReader::Packet packet;
    if (thread == 0) {
      WritePacket(other.get(), 1);
      other->Flush();
    } else if (reader.TryNext(&packet)) {
      Check(packet.writer_id == 2, "the packet is the other writer's");
    }
  }
  void End() {
    Check(reader.stats().chunks_corrupt == 0, "all chunks are whole");
    Check(reader.stats().chunk_gaps == 0, "no chunk is missing");
  }
};

// A service looks for the chunk of a patch while another chunk is taken by a
// writer, with the same id.
struct PatchForAnother : Memory {
  PatchForAnother() : Memory(ABI::kPageDiv14) {
    abi.TryPartitionPage(0, ABI::kPageDiv14);
    // The page stays as it is.
    abi.TryAcquireChunkForWriting(0, ABI::kPageDiv14);
    Write(1, 0, 1);
  }
  void Write(WriterID writer, ChunkID chunk_id, uint16_t packets) {
    const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv14);
    ABI::InitChunkForWriting(chunk, writer, chunk_id, packets);
    abi.ReleaseChunkAsComplete(chunk);
  }
  void Run(int thread) {
    if (thread == 0) {
      const CommitDataRequest::Patch patch = {2, {0x83, 0x80, 0x80, 0}};
      Check(!PatchInPlace(abi, ABI::kChunkComplete, {1, 1, 7, &patch, 1})
                 .is_valid(),
            "a patch is for one chunk only");
      return;
    }
    abi.ReleaseChunkAsFree(abi.TryAcquireChunkForReading(0, 1));
    Write(2, 7, 1 | ABI::kChunkNeedsPatching);
  }
  void End() {}
};

// A writer uses patches again that the thread that commits is done with.
struct PatchReused {
  PatchPool pool;
  Patch* patch = pool.TryAllocate();
  PatchReused() {
    while (pool.TryAllocate() != nullptr) {
    }
  }
  void Run(int thread) {
    if (thread == 0) {
      Assume(pool.TryAllocate() == patch);
    } else {
      Check(!patch->is_ready(), "the patch is as it was");
      patch->Free();
    }
  }
  void End() {}
};

}  // namespace

std::vector<Scenario> WriterScenarios() {
  return {
      MakeScenario<ScrapeWriter>("scrape a writer", 2),
      MakeScenario<Commits>("commits", 2),
      MakeScenario<Reclaim>("reclaim", 2, 2),
      MakeScenario<Flush>("flush", 2, 2),
      MakeScenario<WaitingOwner>("waiting owner", 2),
      MakeScenario<WaitsForBatch>("waits for a batch", 2),
      MakeScenario<Losses>("losses", 2),
      MakeScenario<Patches>("patches", 2),
      MakeScenario<InPlace>("in place", 2),
      MakeScenario<InPlaceReused>("in place, reused", 2),
      MakeScenario<InPlaceTaken>("in place, taken", 2),
      MakeScenario<PatchedInPlace>("patched in place", 2),
      MakeScenario<PatchForAnother>("patch for another", 2),
      MakeScenario<PatchReused>("patch, reused", 2),
  };
}

}  // namespace protozero::weak
