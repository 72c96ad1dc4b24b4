// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Lets a PacketReader read memory that other processes may write anything to.
// The input is a list of actions, see Do(). After any input, packets keep
// within the limits, and reading comes to an end.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <vector>

#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/shared_memory_writer.h"
#include "test/tracing/fake_service.h"

namespace {

using protozero::CommitDataRequest;
using protozero::PacketReader;
using protozero::WriterID;
using protozero::test::Check;
using protozero::test::FuzzInput;
using protozero::test::SharedMemoryWriter;
using ABI = protozero::SharedMemoryABI;

constexpr size_t kPageSize = 4096;
constexpr size_t kNumPages = 4;
// The memory has no room for more fragments.
constexpr size_t kMaxPackets = kNumPages * kPageSize;

class Run {
 public:
  Run()
      : memory_(kNumPages * kPageSize),
        shared_memory_(memory_.start(), kNumPages, kPageSize),
        abi_(memory_.start(), memory_.size(), kPageSize),
        endpoint_(memory_.start(), memory_.size(), kPageSize),
        reader_(std::make_unique<PacketReader>(abi_)) {}

  void Do(FuzzInput* input) {
    switch (input->Byte() % 9) {
      case 0:
        shared_memory_.WriteAnywhere(input);
        break;
      case 1:
        shared_memory_.WritePageWord(input);
        break;
      case 2:  // Writes a complete chunk without a commit.
      case 3:
        WriteChunk(input, ABI::kChunkComplete);
        break;
      case 4:  // Writes an unfinished chunk without a commit.
        WriteChunk(input, ABI::kChunkBeingWritten);
        break;
      case 5: {  // Commits anything.
        std::vector<CommitDataRequest::ChunkToMove> moves(input->Byte() % 8);
        for (CommitDataRequest::ChunkToMove& move : moves) {
          const uint32_t where = input->Byte();
          move.page = where >> 4;
          move.chunk = where & 15;
        }
        endpoint_.CommitData({moves.data(), moves.size(), nullptr, 0});
        break;
      }
      case 6: {  // Patches.
        std::vector<CommitDataRequest::Patch> patches(input->Byte() % 8);
        CommitDataRequest::ChunkToPatch chunk{
            0, static_cast<WriterID>(input->Byte()), input->Byte(), nullptr, 0};
        chunk.has_more_patches = input->Byte() % 2 != 0;
        for (CommitDataRequest::Patch& patch : patches) {
          patch.offset = input->HalfWord();
          const uint32_t data = input->Word();
          memcpy(patch.data, &data, sizeof(data));
        }
        chunk.patches = patches.data();
        chunk.num_patches = patches.size();
        endpoint_.CommitData({nullptr, 0, &chunk, 1});
        break;
      }
      case 7:
        Read(input->Byte());
        break;
      case 8: {  // Another reader continues.
        options_.writer_id = static_cast<WriterID>(input->Byte() % 8);
        options_.max_packet_size = input->HalfWord();
        options_.max_writers = input->Byte() % 8;
        reader_ = std::make_unique<PacketReader>(abi_, options_);
        break;
      }
    }
  }

  void Finish() {
    Check(Read(kMaxPackets) < kMaxPackets, "reading does not end");
  }

 private:
  size_t Read(size_t max_packets) {
    return reader_->ReadPackets(
        [this](const PacketReader::Packet& packet) {
          Check(packet.bytes.size != 0, "an empty packet");
          Check(packet.bytes.size <= options_.max_packet_size,
                "a packet is too long");
          Check(packet.writer_id != 0 &&
                    packet.writer_id <= protozero::kMaxWriterID &&
                    (options_.writer_id == 0 ||
                     packet.writer_id == options_.writer_id),
                "a packet of nobody");
          // All bytes can be read.
          uint8_t sum = 0;
          for (size_t i = 0; i < packet.bytes.size; ++i)
            sum = static_cast<uint8_t>(sum + packet.bytes.data[i]);
          sum_ = sum;
        },
        max_packets);
  }

  void WriteChunk(FuzzInput* input, ABI::ChunkState state) {
    const auto writer_id = static_cast<WriterID>(input->Byte());
    shared_memory_.WriteChunk(input, writer_id, state);
  }

  const protozero::test::SharedMemory memory_;
  SharedMemoryWriter shared_memory_;
  const ABI abi_;
  protozero::InPlaceEndpoint endpoint_;
  PacketReader::Options options_;
  std::unique_ptr<PacketReader> reader_;
  volatile uint8_t sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Run run;
  while (!input.is_at_end())
    run.Do(&input);
  run.Finish();
  return 0;
}
