// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/session_reader.h"

#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/trace_beginning.h"
#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

uint64_t SessionReader::BytesRead(const Session& session) const {
  uint64_t bytes = 0;
  for (const BufferID id : session.buffer_ids)
    bytes += buffers_->Get(id).bytes_read();
  return bytes;
}

uint64_t SessionReader::BytesReadWhenEmpty(const Session& session) const {
  uint64_t bytes = BytesRead(session);
  for (const BufferID id : session.buffer_ids)
    bytes += buffers_->Get(id).used_bytes();
  return bytes;
}

bool SessionOutput::BeginTrace(const std::string& raw_config) {
  const ClockReadings clocks = ReadClocksAfter(last_clock_snapshot);
  if (!AppendTraceHeader(clocks, raw_config, &header))
    return false;
  last_clock_snapshot = clocks;
  return true;
}

bool SessionReader::ReadBatch(Session* session,
                              std::vector<uint8_t>* trace,
                              bool* has_more) {
  SessionOutput& output = session->output;
  *has_more = false;
  trace->insert(trace->end(), output.header.begin(), output.header.end());
  std::vector<uint8_t>().swap(output.header);
  while (!output.clock_snapshots.empty()) {
    if (!AppendClockSnapshot(output.clock_snapshots.front(), trace))
      return false;
    output.clock_snapshots.erase(output.clock_snapshots.begin());
  }
  const bool is_final = session->state == TracingService::kStopped;
  TrustedFields trusted(session->config.stamps_pid);
  TraceBeginning beginning(session->begin_ns);
  for (const BufferID id : session->buffer_ids) {
    TraceBuffer& buffer = buffers_->Get(id);
    const auto append = [&](const TraceBuffer::Packet& packet) {
      if (!IsValidPacket(packet.bytes)) {
        ++output.invalid_packets;
        return false;
      }
      ConstBytes bytes = packet.bytes;
      if (packet.beginning != nullptr) {
        bool is_left = true;
        if (!RunsInMemory([&] { is_left = beginning.Cut(packet, &bytes); })) {
          *packet.why_lost = LossReason::kOutOfMemory;
          return false;
        }
        if (!is_left) {
          *packet.is_left_out = true;
          return false;
        }
      }
      if (!packet.producer.reports_losses &&
          SaysPreviousPacketDropped(packet.bytes)) {
        buffer.CountUnknownLoss();
      }
      if (*packet.lacks_state && session->config.is_read_at_end &&
          !HasState(packet.bytes, packet.lacks_state)) {
        *packet.why_lost = LossReason::kOverwritten;
        return false;
      }
      if (*packet.sequence_id == 0) {
        // Ids that started over would be those of other writers.
        if (output.next_sequence_id == 0) {
          *packet.why_lost = LossReason::kNoWriterID;
          return false;
        }
        *packet.sequence_id = output.next_sequence_id++;
      }
      const size_t size = trace->size();
      if (RunsInMemory([&] { AppendPacket(bytes, trusted.Of(packet), trace); }))
        return true;
      trace->resize(size);
      *packet.why_lost = LossReason::kOutOfMemory;
      return false;
    };
    const auto append_run = [&](const TraceBuffer::Run& run) {
      TraceBuffer::RunPart part;
      // Without memory, each packet is tried on its own, or lost.
      if (!run.lacks_state || !session->config.is_read_at_end)
        RunsInMemory([&] { part = trusted.AppendTo(run, trace); });
      return part;
    };
    if (buffer.ReadPackets(kBatchSize, is_final, append, append_run)) {
      *has_more = true;
      return true;
    }
  }
  if (is_final && !output.has_trailer) {
    output.has_trailer =
        AppendTraceTrailer(ReadClocksAfter(output.last_clock_snapshot),
                           stats_->Collect(*session), trace);
  }
  return output.has_trailer || !is_final;
}

void SessionReader::Discard(const Session& session) {
  for (const BufferID id : session.buffer_ids) {
    buffers_->Get(id).ReadPackets(SIZE_MAX,
                                  session.state == TracingService::kStopped,
                                  [](const TraceBuffer::Packet& packet) {
                                    *packet.why_lost = LossReason::kNotWritten;
                                    return false;
                                  });
  }
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
