// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Makes a trace of a flight recorder's file. The header is right, because
// others are refused at once; the input is a list of changes to the file, see
// Do(). After any input, the trace is a row of whole packets.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/local/flight_reader.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/shared_memory_writer.h"
#include "test/tracing/fake_service.h"

namespace {

using protozero::FlightHeader;
using protozero::FlightReader;
using protozero::WriterID;
using protozero::test::Check;
using protozero::test::FuzzInput;
using protozero::test::SharedMemoryWriter;
using ABI = protozero::SharedMemoryABI;

constexpr size_t kPageSize = 4096;
constexpr size_t kNumPages = 4;

class Run {
 public:
  Run()
      : file_(FlightHeader::kSize + kNumPages * kPageSize),
        pages_(file_.start() + FlightHeader::kSize, kNumPages, kPageSize) {
    auto* const header = new (file_.start()) FlightHeader();
    memcpy(header->magic, FlightHeader::kMagic, sizeof(header->magic));
    header->byte_order = FlightHeader::kByteOrder;
    header->version = FlightHeader::kVersion;
    header->header_size = FlightHeader::kSize;
    header->page_size = kPageSize;
    header->num_pages = kNumPages;
  }

  void Do(FuzzInput* input) {
    switch (input->Byte() % 8) {
      case 0:
        pages_.WriteAnywhere(input);
        break;
      case 1:
        pages_.WritePageWord(input);
        break;
      case 2:
      case 3:
        WriteChunk(input, ABI::kChunkComplete);
        break;
      case 4:
        WriteChunk(input, ABI::kChunkBeingWritten);
        break;
      case 5:
        WriteChunk(input, ABI::kChunkBeingRead);
        break;
      case 6:  // Changes the header.
        file_.start()[input->Byte()] = static_cast<uint8_t>(input->Byte());
        break;
      case 7: {  // Cuts the file.
        size_ = input->HalfWord() % (file_.size() + 1);
        break;
      }
    }
  }

  void Finish() {
    FlightReader reader;
    std::string error;
    if (!reader.Open({file_.start(), size_}, &error)) {
      Check(!error.empty(), "a file is refused without a reason");
      return;
    }
    std::vector<uint8_t> trace;
    Check(reader.ReadTrace([&](const uint8_t* data, size_t size) {
      trace.insert(trace.end(), data, data + size);
      return true;
    }),
          "reading fails");
    protozero::ProtoDecoder decoder(trace.data(), trace.size());
    uint64_t num_packets = 0;
    while (const protozero::Field packet = decoder.ReadField()) {
      Check(packet.id() == 1, "something other than a packet");
      protozero::ProtoDecoder fields(packet.as_bytes());
      while (fields.ReadField()) {
      }
      Check(fields.status() == protozero::DecodeStatus::kOk, "a torn packet");
      ++num_packets;
    }
    Check(decoder.status() == protozero::DecodeStatus::kOk, "a torn trace");
    // Clocks and a marker, and clocks and statistics. A writer whose last
    // packets are missing has an empty one, which says so.
    const uint64_t expected = reader.stats().packets_read + 4;
    Check(num_packets >= expected &&
              num_packets <= expected + reader.stats().writers_seen,
          "the number of packets is wrong");
  }

 private:
  void WriteChunk(FuzzInput* input, ABI::ChunkState state) {
    const auto writer_id = static_cast<WriterID>(input->Byte());
    pages_.WriteChunk(input, writer_id, state);
  }

  const protozero::test::SharedMemory file_;
  SharedMemoryWriter pages_;
  size_t size_ = file_.size();
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
