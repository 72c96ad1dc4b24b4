// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_reader.h"

#include <string.h>

#include "src/tracing/service/service_packets.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The size of the parts in which the trace is written.
constexpr size_t kBatchSize = 256 * 1024;

constexpr char kDamaged[] = "cut, or damaged at its beginning";

// Appends the packets of one writer after another to a trace. Each place where
// packets are missing is told by the next packet of the writer; if there is
// none, by an empty one.
class WritersAppender {
 public:
  WritersAppender(uint32_t uid,
                  int32_t pid,
                  uint32_t* last_sequence_id,
                  std::vector<uint8_t>* trace)
      : uid_(static_cast<int32_t>(uid)),
        pid_(pid),
        last_sequence_id_(last_sequence_id),
        trace_(trace) {}

  void BeginWriter() {
    ++*last_sequence_id_;
    has_begun_ = has_gap_ = false;
  }
  void Append(ConstBytes packet) {
    service::TraceBuffer::Packet with_origin = {};
    with_origin.producer.uid = uid_;
    with_origin.producer.pid = pid_;
    with_origin.sequence_id = last_sequence_id_;
    with_origin.previous_packet_dropped = has_gap_;
    service::AppendPacket(packet, trusted_.Of(with_origin), trace_);
    has_begun_ = true;
    has_gap_ = false;
  }
  void AddGap() { has_gap_ = true; }
  void EndWriter() {
    if (has_begun_ && has_gap_)
      Append(ConstBytes());
  }

 private:
  const int32_t uid_;
  const int32_t pid_;
  uint32_t* const last_sequence_id_;
  std::vector<uint8_t>* const trace_;
  service::TrustedFields trusted_{/*stamps_pid=*/true};
  bool has_begun_ = false;
  bool has_gap_ = false;
};

}  // namespace

size_t FlightReader::SizeOf(const uint8_t* bytes, std::string* error) {
  const FlightHeader& header = *reinterpret_cast<const FlightHeader*>(bytes);
  if (memcmp(header.magic, FlightHeader::kMagic,
             sizeof(FlightHeader::kMagic)) != 0) {
    *error = "no file of a flight recorder";
    return 0;
  }
  if (header.byte_order != FlightHeader::kByteOrder) {
    *error = "written by a machine with another byte order";
    return 0;
  }
  if (header.version != FlightHeader::kVersion) {
    *error = "written by another version";
    return 0;
  }
  if (header.header_size != FlightHeader::kSize ||
      !SharedMemoryABI::IsValidPageSize(header.page_size) ||
      header.num_pages > SIZE_MAX / 2 / header.page_size) {
    *error = kDamaged;
    return 0;
  }
  return FlightHeader::kSize + size_t{header.page_size} * header.num_pages;
}

bool FlightReader::Open(ConstBytes file, std::string* error) {
  file_ = file;
  if (file.size < FlightHeader::kSize) {
    *error = "no file of a flight recorder";
    return false;
  }
  const size_t size = SizeOf(file.data, error);
  if (size == 0)
    return false;
  if (size > file.size) {
    *error = kDamaged;
    return false;
  }
  // Nothing writes through the pointer.
  abi_ = SharedMemoryABI(const_cast<uint8_t*>(file.data) + FlightHeader::kSize,
                         size - FlightHeader::kSize, header()->page_size);
  return true;
}

uint64_t FlightReader::program_size() const {
  const uint64_t num_pages = header()->program_pages;
  return num_pages == 0 ? 0
                        : FlightHeader::kSize + num_pages * header()->page_size;
}

bool FlightReader::WriteBegin(const Write& write) const {
  std::vector<uint8_t> bytes;
  return service::AppendTraceHeader(clocks(), std::string(), &bytes) &&
         write(bytes.data(), bytes.size());
}

bool FlightReader::WritePackets(uint32_t uid,
                                int32_t pid,
                                uint32_t* last_sequence_id,
                                const Write& write) {
  std::vector<uint8_t> trace;
  trace.reserve(kBatchSize + abi_.page_size());
  bool ok = true;
  WritersAppender writers(uid, pid, last_sequence_id, &trace);
  TraceBufferStats& stats = stats_;
  RingReader ring(abi_);
  WriterID last_writer_id = 0;
  bool lacks_state = false;
  ring.ReadPackets([&](const RingReader::Packet& packet) {
    if (!ok)
      return;
    if (packet.writer_id != last_writer_id) {
      writers.EndWriter();
      last_writer_id = packet.writer_id;
      lacks_state = false;
      ++stats.writers_seen;
      writers.BeginWriter();
    }
    if (packet.previous_packet_dropped) {
      writers.AddGap();
      lacks_state = true;
    }
    if (!service::IsValidPacket(packet.bytes)) {
      writers.AddGap();
      return stats.lost.Add(LossReason::kInvalid, 1);
    }
    if (lacks_state && !service::HasState(packet.bytes, &lacks_state)) {
      writers.AddGap();
      return stats.lost.Add(LossReason::kOverwritten, 1);
    }
    writers.Append(packet.bytes);
    ++stats.packets_read;
    if (trace.size() >= kBatchSize) {
      ok = write(trace.data(), trace.size());
      trace.clear();
    }
  });
  writers.EndWriter();
  CountLosses(ring.stats());
  return ok && (trace.empty() || write(trace.data(), trace.size()));
}

service::ClockReadings FlightReader::end_clocks() const {
  const auto load = [](const std::atomic<uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  const service::ClockReadings end = {load(header()->end_realtime_ns),
                                      load(header()->end_monotonic_ns),
                                      load(header()->end_boottime_ns)};
  const service::ClockReadings begin = clocks();
  return end.realtime != 0 && end.monotonic >= begin.monotonic &&
                 end.boottime >= begin.boottime
             ? end
             : begin;
}

bool FlightReader::WriteEnd(const TraceStats& stats,
                            bool goes_on,
                            const Write& write) const {
  std::vector<uint8_t> bytes;
  return service::AppendTraceTrailer(
             goes_on ? service::ReadClocks() : end_clocks(), stats, &bytes) &&
         write(bytes.data(), bytes.size());
}

bool FlightReader::ReadTrace(const Write& write) {
  // Behind the service's own sequence.
  uint32_t last_sequence_id = service::kServiceSequenceID;
  if (!WriteBegin(write) ||
      !WritePackets(uid(), pid(), &last_sequence_id, write)) {
    return false;
  }
  TraceStats all;
  all.buffers.push_back(stats_);
  all.producers_seen = 1;
  all.tracing_sessions = 1;
  return WriteEnd(all, /*goes_on=*/false, write);
}

void FlightReader::CountLosses(const RingReader::Stats& ring) {
  TraceBufferStats& stats = stats_;
  stats.buffer_size = abi_.num_pages() * abi_.page_size();
  stats.chunks_written = stats.chunks_read = ring.chunks_read;
  stats.lost.Add(LossReason::kIncomplete, ring.packets_unfinished);
  stats.lost.Add(LossReason::kOverwritten, ring.packets_torn);
  stats.lost.Add(LossReason::kTooLarge, ring.packets_too_large);
  stats.unknown_losses = ring.chunks_corrupt;
  // Packets that their writers have given up are counted in the header, too.
  stats.lost.Add(LossesOf(*header()));
  stats.packets_written =
      stats.packets_read + stats.lost.of(LossReason::kIncomplete) +
      stats.lost.of(LossReason::kOverwritten) +
      stats.lost.of(LossReason::kInvalid) + ring.packets_too_large;
  stats.packets_begun = stats.packets_read;
  PacketLosses::Increase(&stats.packets_begun, stats.lost.total());
}

PROTOZERO_ABI_END
}  // namespace protozero
