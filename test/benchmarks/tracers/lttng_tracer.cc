// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// LTTng's session daemon runs beside the program: one that the system has
// started, or a child of this process. Its consumer daemon writes the trace to
// files, or nothing of a session that is there for snapshots.

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "test/benchmarks/tracers/lttng_events.inc"

#include <fcntl.h>
#include <lttng/lttng.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "test/benchmarks/tracers/tracer.h"

namespace {

namespace fs = std::filesystem;

constexpr char kChannel[] = "channel";
constexpr uint64_t kSubBuffer = 8 << 20;
constexpr uint64_t kSubBuffers = 4;

std::string g_session;
fs::path g_folder;

[[noreturn]] void Fail(const std::string& what, int error = 0) {
  fprintf(stderr, "LTTng: %s%s%s\n", what.c_str(), error < 0 ? ": " : "",
          error < 0 ? lttng_strerror(error) : "");
  exit(1);
}

void Check(const std::string& what, int result) {
  if (result < 0)
    Fail(what, result);
}

// Waits up to ten seconds.
template <typename Condition>
bool Wait(const Condition& is_met) {
  for (int i = 0; i < 10000; ++i) {
    if (is_met())
      return true;
    usleep(1000);
  }
  return false;
}

bool IsDaemonAlive() {
  return lttng_session_daemon_alive() == 1;
}

// The daemon that this process has started; 0 if there is none.
pid_t g_daemon;

// Waits until the daemon has gone: the next program would find it alive, and
// lose it.
void StopDaemon() {
  kill(g_daemon, SIGTERM);
  waitpid(g_daemon, nullptr, 0);
}

// No second program of this kind uses the daemon: the one that has started it
// ends it.
void EnsureDaemon() {
  static const int lock = open("/tmp/tracer_rows_lttng.lock",
                               O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  flock(lock, LOCK_EX);
  if (IsDaemonAlive())
    return;
  g_daemon = fork();
  if (g_daemon == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execlp("lttng-sessiond", "lttng-sessiond", "--no-kernel", "--quiet",
           nullptr);
    _exit(127);
  }
  atexit(&StopDaemon);
  if (!Wait(&IsDaemonAlive))
    Fail("lttng-sessiond does not start");
}

void StartSession(bool is_snapshot) {
  EnsureDaemon();
  char path[] = "/tmp/tracer_rows_XXXXXX";
  if (!mkdtemp(path))
    Fail("no folder for the trace");
  g_folder = path;
  g_session = "tracer_rows_" + std::to_string(getpid());
  const std::string url = "file://" + g_folder.string();
  Check("session",
        is_snapshot
            ? lttng_create_session_snapshot(g_session.c_str(), url.c_str())
            : lttng_create_session(g_session.c_str(), url.c_str()));

  lttng_domain domain = {};
  domain.type = LTTNG_DOMAIN_UST;
  domain.buf_type = LTTNG_BUFFER_PER_UID;
  lttng_handle* handle = lttng_create_handle(g_session.c_str(), &domain);
  lttng_channel* channel = lttng_channel_create(&domain);
  strcpy(channel->name, kChannel);
  channel->attr.overwrite = is_snapshot;
  channel->attr.subbuf_size = kSubBuffer;
  channel->attr.num_subbuf = kSubBuffers;
  Check("channel", lttng_enable_channel(handle, channel));
  lttng_channel_destroy(channel);
  lttng_event* event = lttng_event_create();
  event->type = LTTNG_EVENT_TRACEPOINT;
  event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
  strcpy(event->name, "rows:*");
  Check("events", lttng_enable_event(handle, event, kChannel));
  lttng_event_destroy(event);
  lttng_destroy_handle(handle);
  Check("start", lttng_start_tracing(g_session.c_str()));
  if (!Wait([] { return lttng_ust_tracepoint_enabled(rows, counter) != 0; }))
    Fail("no event is ever recorded");
}

void Start() {
  StartSession(false);
}

void StartSnapshot() {
  StartSession(true);
}

// The beginning of each packet in a file of CTF, as LTTng writes it.
struct __attribute__((packed)) Packet {
  uint32_t magic;
  uint8_t uuid[16];
  uint32_t stream_id;
  uint64_t stream_instance_id;
  uint64_t timestamp_begin;
  uint64_t timestamp_end;
  uint64_t content_size;  // In bits.
  uint64_t packet_size;   // In bits, with the padding after the content.
  uint64_t number;
  uint64_t events_discarded;  // Since the beginning.
  uint32_t processor;
};
constexpr uint32_t kMagic = 0xc1fc1fc1;
static_assert(sizeof(Packet) == 84 && offsetof(Packet, content_size) == 48, "");

void AddStream(const fs::path& path, Tracer::Outcome* outcome) {
  std::ifstream file(path, std::ios::binary);
  Packet packet = {};
  uint64_t discarded = 0;
  for (uint64_t at = 0;
       file.seekg(static_cast<std::streamoff>(at)) &&
       file.read(reinterpret_cast<char*>(&packet), sizeof(packet)) &&
       packet.magic == kMagic && packet.packet_size > 0;
       at += packet.packet_size / 8) {
    outcome->bytes += packet.content_size / 8;
    discarded = packet.events_discarded;
  }
  outcome->events_lost += discarded;
}

Tracer::Outcome Stop() {
  Check("stop", lttng_stop_tracing(g_session.c_str()));
  Check("destroy", lttng_destroy_session(g_session.c_str()));
  Wait([] { return lttng_ust_tracepoint_enabled(rows, counter) == 0; });
  Tracer::Outcome outcome;
  for (const auto& entry : fs::recursive_directory_iterator(g_folder)) {
    if (entry.is_regular_file() &&
        entry.path().filename().string().rfind(kChannel, 0) == 0 &&
        entry.path().extension() != ".idx") {
      AddStream(entry.path(), &outcome);
    }
  }
  fs::remove_all(g_folder);
  return outcome;
}

// Returns the share of the memory that the daemons have to themselves, or have
// with others.
uint64_t MemoryOfDaemons() {
  uint64_t kilobytes = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    if (name.rfind("lttng-", 0) != 0)
      continue;
    std::ifstream file(entry.path() / "smaps_rollup");
    std::string word;
    while (file >> word) {
      uint64_t value;
      if (word == "Pss:" && file >> value) {
        kilobytes += value;
        break;
      }
    }
  }
  return kilobytes * 1024;
}

double SecondsOfDaemons() {
  double seconds = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    if (name.rfind("lttng-", 0) == 0)
      seconds += SecondsOfProcess(entry.path().filename().c_str());
  }
  return seconds;
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    lttng_ust_tracepoint(rows, instant);
}
void InstantWith1(int count) {
  for (int i = 0; i < count; ++i)
    lttng_ust_tracepoint(rows, instant_1, i);
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    lttng_ust_tracepoint(rows, begin);
    lttng_ust_tracepoint(rows, end);
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    lttng_ust_tracepoint(rows, begin_1, i);
    lttng_ust_tracepoint(rows, end);
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    lttng_ust_tracepoint(rows, begin_3, i, i + 1, i + 2);
    lttng_ust_tracepoint(rows, end);
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    lttng_ust_tracepoint(rows, begin_string, kTracedText);
    lttng_ust_tracepoint(rows, end);
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i)
    lttng_ust_tracepoint(rows, counter, i);
}

constexpr Tracer MakeTracer(const char* name,
                            const char* description,
                            void (*start)()) {
  return {
      name,
      description,
      start,
      &Stop,
      &SettleBriefly,
      &MemoryOfDaemons,
      &SecondsOfDaemons,
      true,
      &Instant,
      &InstantWith1,
      &Slice,
      &SliceWith1,
      &SliceWith3,
      &SliceWithString,
      &Counter,
  };
}

const Tracer kDiscard = MakeTracer(
    "LTTng",
    "LTTng-UST 2.13.5, 4 x 8 MB a processor, discards when full, writes files",
    &Start);
const Tracer kSnapshot =
    MakeTracer("LTTng, snapshot",
               "the same for snapshots: overwrites, and writes nothing",
               &StartSnapshot);

}  // namespace

const Tracer* const kPeers[] = {&kDiscard, &kSnapshot, nullptr};
