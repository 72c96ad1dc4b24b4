// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A logger writes a line for each event, and two for a slice. A thread in the
// background formats them. If its queue is full, the oldest lines are lost, so
// that events take what it takes to hand them over.

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "spdlog/async.h"
#include "spdlog/sinks/basic_file_sink.h"
#include "spdlog/spdlog.h"
#include "test/benchmarks/tracers/tracer.h"

namespace {

constexpr size_t kLines = 1 << 17;

std::shared_ptr<spdlog::details::thread_pool> g_thread;
std::string g_path;

// Returns a logger whose lines are not wanted.
std::shared_ptr<spdlog::logger> DisabledLogger() {
  auto logger = std::make_shared<spdlog::logger>("off");
  logger->set_level(spdlog::level::off);
  return logger;
}

std::shared_ptr<spdlog::logger> g_logger = DisabledLogger();

void Start() {
  char path[] = "/tmp/tracer_rows_XXXXXX";
  close(mkstemp(path));
  g_path = path;
  g_thread = std::make_shared<spdlog::details::thread_pool>(kLines, 1);
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(g_path, true);
  g_logger = std::make_shared<spdlog::async_logger>(
      "rows", std::move(sink), g_thread,
      spdlog::async_overflow_policy::overrun_oldest);
}

void Settle() {
  while (g_thread->queue_size() > 0)
    usleep(1000);
}

Tracer::Outcome Stop() {
  Settle();
  g_logger->flush();
  Tracer::Outcome outcome;
  outcome.events_lost = g_thread->overrun_counter();
  // The thread keeps the logger while it writes a line of it.
  g_logger = DisabledLogger();
  g_thread.reset();
  struct stat file = {};
  stat(g_path.c_str(), &file);
  outcome.bytes = static_cast<uint64_t>(file.st_size);
  unlink(g_path.c_str());
  return outcome;
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    SPDLOG_LOGGER_INFO(g_logger, "instant");
}
void InstantWith1(int count) {
  for (int i = 0; i < count; ++i)
    SPDLOG_LOGGER_INFO(g_logger, "instant 1 i={}", i);
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    SPDLOG_LOGGER_INFO(g_logger, "begin slice");
    SPDLOG_LOGGER_INFO(g_logger, "end slice");
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    SPDLOG_LOGGER_INFO(g_logger, "begin slice i={}", i);
    SPDLOG_LOGGER_INFO(g_logger, "end slice");
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    SPDLOG_LOGGER_INFO(g_logger, "begin slice i={} j={} k={}", i, i + 1, i + 2);
    SPDLOG_LOGGER_INFO(g_logger, "end slice");
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    SPDLOG_LOGGER_INFO(g_logger, "begin slice s={}", kTracedText);
    SPDLOG_LOGGER_INFO(g_logger, "end slice");
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i)
    SPDLOG_LOGGER_INFO(g_logger, "counter {}", i);
}

const Tracer kSpdlog = {
    "spdlog",    "spdlog 1.10, asynchronous, a queue of 131,072 lines, a file",
    &Start,      &Stop,
    &Settle,     nullptr,
    nullptr,     true,
    &Instant,    &InstantWith1,
    &Slice,      &SliceWith1,
    &SliceWith3, &SliceWithString,
    &Counter,
};

}  // namespace

const Tracer* const kPeers[] = {&kSpdlog, nullptr};
