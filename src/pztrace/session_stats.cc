// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/session_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "protozero/decode_status.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/program/text.h"
#include "src/pztrace/completeness.h"
#include "src/pztrace/session_stats.pbzero.h"
#include "src/pztrace/shown_name.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::SocketStatus;

// The limit for an answer, and for the time until the reader takes it.
constexpr int kTimeoutMs = 5000;
// The pause after a failure that would come again at once.
constexpr int kPauseMs = 100;
// The limit of statistics. Those of TraceStats::kMaxWriters writers, and of as
// many producers as possible, are smaller.
constexpr size_t kMaxStatsSize = 4 * 1024 * 1024;

// Returns the packets that are not lost. A producer may say that it has lost
// more than there ever was.
uint64_t PacketsNotLost(uint64_t begun, const protozero::PacketLosses& lost) {
  return begun - std::min(begun, lost.total());
}

void Pause() {
  const timespec pause{0, 1000000L * kPauseMs};
  nanosleep(&pause, nullptr);
}

// Waits until |fd| is ready, or the time is up, or |other_fd| is readable.
// Returns true if only |fd| is ready.
bool WaitFor(int fd, short events, int other_fd) {
  pollfd fds[] = {{fd, events, 0}, {other_fd, POLLIN, 0}};
  int ready;
  do {
    ready = poll(fds, 2, kTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  // Without memory, it is of no use to ask again at once.
  if (ready < 0)
    Pause();
  return ready > 0 && fds[1].revents == 0;
}

}  // namespace

std::string SerializeStats(const RecordingStats& stats) {
  protozero::HeapBuffered<pbzero::Stats> message;
  message->set_file(stats.file);
  message->set_file_bytes(stats.file_bytes);
  message->set_elapsed_ms(stats.elapsed_ms);
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
  fprintf(out, "%s: %" PRIu64 " bytes after %.1f s\n\n",
          Escaped(stats.file().ToStdStringView()).c_str(), stats.file_bytes(),
          static_cast<double>(stats.elapsed_ms()) / 1000);

  std::map<uint32_t, std::string> names;
  for (const ConstBytes producer_bytes : stats.producers()) {
    const pbzero::Stats_Producer::Decoder producer(producer_bytes);
    names[producer.id()] = ShownName(producer.name().ToStdStringView()) + " (" +
                           std::to_string(producer.pid()) + ")";
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

StatsServer::StatsServer(std::function<std::string()> serialize)
    : serialize_(std::move(serialize)) {}

StatsServer::~StatsServer() {
  if (thread_.is_started()) {
    stops_ = true;
    wakeup_.Notify();
    thread_.Join();
  }
  if (listening_.is_valid())
    unlink(socket_.c_str());
}

bool StatsServer::Start(const std::string& socket, std::string* error) {
  socket_ = socket;
  listening_ = protozero::ListenOnUnixSocket(socket, error);
  if (!listening_.is_valid())
    return false;
  const int failure = thread_.Start<&StatsServer::Run>(this);
  if (failure != 0)
    *error = std::string("cannot start a thread: ") + strerror(failure);
  return failure == 0;
}

void StatsServer::Run() {
  while (!stops_) {
    WaitFor(listening_.get(), POLLIN, wakeup_.fd());
    const protozero::ScopedFd connection =
        protozero::AcceptConnection(listening_.get());
    if (!connection.is_valid()) {
      // The process may have too many descriptors. A client that waits to be
      // accepted goes on waiting, so without a pause this loop would be busy.
      pollfd pause{wakeup_.fd(), POLLIN, 0};
      poll(&pause, 1, kPauseMs);
      continue;
    }
    // Without memory, the statistics are empty.
    std::string bytes;
    protozero::RunsInMemory([&] { bytes = serialize_(); });
    const uint8_t* data = reinterpret_cast<const uint8_t*>(bytes.data());
    size_t rest = bytes.size();
    SocketStatus status = SocketStatus::kOk;
    while (rest != 0 && status != SocketStatus::kClosed) {
      size_t sent = 0;
      status = protozero::SendToSocket(connection.get(), data, rest, -1, &sent);
      data += sent;
      rest -= sent;
      if (status == SocketStatus::kWouldBlock &&
          !WaitFor(connection.get(), POLLOUT, wakeup_.fd()))
        break;
    }
  }
}

bool FetchStats(const std::string& socket,
                std::string* bytes,
                std::string* error) {
  const protozero::ScopedFd connection =
      protozero::ConnectToUnixSocket(socket, error);
  if (!connection.is_valid())
    return false;
  bytes->clear();
  uint8_t block[1 << 16];
  for (;;) {
    size_t received = 0;
    protozero::ScopedFd unwanted;
    const SocketStatus status = protozero::ReceiveFromSocket(
        connection.get(), block, sizeof(block), &received, &unwanted);
    bytes->append(reinterpret_cast<const char*>(block), received);
    if (status == SocketStatus::kClosed)
      return true;
    if (bytes->size() > kMaxStatsSize ||
        (status == SocketStatus::kWouldBlock &&
         !WaitFor(connection.get(), POLLIN, -1))) {
      *error = "no answer";
      return false;
    }
  }
}

}  // namespace pztrace
