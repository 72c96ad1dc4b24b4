// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/session_stats.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <vector>

#include "protozero/decode_status.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.pbzero.h"
#include "src/pztrace/record/socket_server.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;

// The time in which a part of the answer comes.
constexpr int kTimeoutMs = 5000;
// The limit of an answer. Those of any number of producers that describe their
// data sources at length are smaller.
constexpr size_t kMaxStatsSize = size_t{1} << 30;

// Returns the packets that are not lost. A producer may say that it has lost
// more than there ever was.
uint64_t PacketsNotLost(uint64_t begun, const protozero::PacketLosses& lost) {
  return begun - std::min(begun, lost.total());
}

}  // namespace

std::string SerializeStats(const RecordingStats& stats) {
  protozero::HeapBuffered<pbzero::Stats> message;
  message->set_file(stats.file);
  message->set_file_bytes(stats.file_bytes);
  message->set_elapsed_ms(stats.elapsed_ms);
  if (stats.kept_ns != 0)
    message->set_kept_ns(stats.kept_ns);
  for (const protozero::TraceProducerStats& producer : stats.trace.producers) {
    auto* entry = message->add_producers();
    entry->set_id(producer.producer_id);
    entry->set_name(producer.name);
    entry->set_pid(producer.pid);
    entry->set_shm_bytes(producer.shm_size);
  }
  for (const protozero::TraceWriterStats& writer : stats.trace.writers) {
    auto* entry = message->add_writers();
    entry->set_producer_id(writer.producer_id);
    entry->set_writer_id(writer.writer_id);
    entry->set_packets(PacketsNotLost(writer.packets_begun, writer.lost));
    entry->set_lost(writer.lost.total());
    entry->set_bytes(writer.bytes_written);
    entry->set_chunks(writer.chunks_written);
    entry->set_patches(writer.patches_succeeded);
  }
  message->set_writers_seen(stats.trace.writers_seen());
  message->set_writers_left_out(stats.trace.writers_left_out);
  message->set_packets(
      PacketsNotLost(stats.trace.packets_begun(), stats.trace.lost()));
  Completeness completeness(stats.trace);
  completeness.AddNotWritten(stats.packets_not_written);
  message->set_losses(completeness.Text());
  message->set_offers(stats.offers);
  // A part of the statistics would mislead.
  return message.status() == protozero::WriteStatus::kOk
             ? message.SerializeAsString()
             : std::string();
}

bool PrintStats(ConstBytes bytes, FILE* out) {
  const pbzero::Stats::Decoder stats(bytes);
  if (stats.status() != protozero::DecodeStatus::kOk)
    return false;
  fprintf(out, "%s: %" PRIu64 " bytes after %.1f s",
          Escaped(stats.file().ToStdStringView()).c_str(), stats.file_bytes(),
          static_cast<double>(stats.elapsed_ms()) / 1000);
  if (stats.has_kept_ns()) {
    fprintf(out, ", with the last %.1f s",
            static_cast<double>(stats.kept_ns()) / 1e9);
  }
  fputs("\n\n", out);

  std::map<uint32_t, std::string> names;
  for (const ConstBytes producer_bytes : stats.producers()) {
    const pbzero::Stats_Producer::Decoder producer(producer_bytes);
    names[producer.id()] =
        ShownProcess(producer.name().ToStdStringView(), producer.pid());
  }
  // Only the number of a producer that has gone is known.
  const auto name_of = [&names](uint32_t id) {
    const auto found = names.find(id);
    return found != names.end() ? found->second
                                : "producer " + std::to_string(id) + ", gone";
  };
  size_t width = strlen("producer");
  for (const ConstBytes writer_bytes : stats.writers()) {
    const pbzero::Stats_Writer::Decoder writer(writer_bytes);
    width = std::max(width, name_of(writer.producer_id()).size());
  }
  for (const auto& [id, name] : names)
    width = std::max(width, name.size());

  const int columns = static_cast<int>(width);
  fprintf(out, "%-*s %6s %10s %10s %12s %8s %8s\n", columns, "producer",
          "writer", "packets", "lost", "bytes", "chunks", "patches");
  std::map<uint32_t, std::string> silent = names;
  for (const ConstBytes writer_bytes : stats.writers()) {
    const pbzero::Stats_Writer::Decoder writer(writer_bytes);
    silent.erase(writer.producer_id());
    fprintf(out,
            "%-*s %6" PRIu32 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64
            " %8" PRIu64 " %8" PRIu64 "\n",
            columns, name_of(writer.producer_id()).c_str(), writer.writer_id(),
            writer.packets(), writer.lost(), writer.bytes(), writer.chunks(),
            writer.patches());
  }
  for (const auto& [id, name] : silent)
    fprintf(out, "%-*s %6s\n", columns, name.c_str(), "-");
  if (stats.writers_left_out() != 0) {
    fprintf(out, "and %s with fewer bytes\n",
            CountOf(stats.writers_left_out(), "writer").c_str());
  }
  fprintf(out, "\n%s of %s, %s\n", CountOf(stats.packets(), "packet").c_str(),
          CountOf(stats.writers_seen(), "writer").c_str(),
          stats.losses().ToStdString().c_str());
  return true;
}

bool ReadOffers(const std::string& bytes, std::string* text) {
  const pbzero::Stats::Decoder stats(
      ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  if (stats.status() != protozero::DecodeStatus::kOk)
    return false;
  *text = program::Shown(stats.offers().ToStdStringView());
  return true;
}

AskResult FetchStats(const std::string& socket,
                     std::string* bytes,
                     std::string* error) {
  bytes->clear();
  const auto append = [bytes](const uint8_t* data, size_t size) {
    bytes->append(reinterpret_cast<const char*>(data), size);
    return bytes->size() <= kMaxStatsSize;
  };
  const AskResult result = Ask(socket, kTimeoutMs, append, error);
  if (result == AskResult::kRefused) {
    *error = "the recorder's answer has more than " +
             std::to_string(kMaxStatsSize >> 20) + " MB";
  }
  return result;
}

}  // namespace pztrace
