// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Exports the batches that it reads from standard input, with the settings in
// the environment, and prints what became of each: how many were exported, how
// many were rejected, and the reason.
//
//   export_batches DEADLINE_MS [--interrupt MS] [--fork] [--no-timeout]
//
// A line of the input is "traces" or "logs", the number of spans, and the bytes
// in hexadecimal.
//
// --interrupt: another thread interrupts the exporter after this time.
// --fork: each batch is exported by the parent and by a child, in turn.
// --no-timeout: an attempt has the time of its batch.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "protozero/otlp/http_exporter.h"

namespace {

namespace otlp = protozero::otlp;

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

void Export(otlp::HttpExporter& exporter,
            const std::string& signal,
            uint32_t count,
            const std::string& hex,
            uint64_t deadline_ms) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(
        static_cast<uint8_t>(strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  const otlp::ExportResult result = exporter.Export(
      {signal == "traces" ? otlp::Signal::kSpans : otlp::Signal::kLogs,
       bytes.data(), bytes.size(), count,
       MonotonicNs() + deadline_ms * 1'000'000});
  printf("%u %u %s\n", result.exported, result.rejected,
         result.reason != nullptr ? result.reason : "");
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 2;
  const uint64_t deadline_ms = strtoull(argv[1], nullptr, 10);
  bool forks = false;
  bool has_timeout = true;
  long interrupt_ms = -1;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--fork") == 0)
      forks = true;
    else if (strcmp(argv[i], "--no-timeout") == 0)
      has_timeout = false;
    else if (strcmp(argv[i], "--interrupt") == 0 && i + 1 < argc)
      interrupt_ms = strtol(argv[++i], nullptr, 10);
  }
  std::string warnings;
  otlp::HttpExporterOptions options =
      otlp::HttpExporterOptions::FromEnvironment(&warnings);
  fprintf(stderr, "%s", warnings.c_str());
  options.first_backoff_ms = 20;
  if (!has_timeout)
    options.traces.timeout_ms = 0;
  otlp::HttpExporter exporter(options);
  if (!exporter.error().empty())
    fprintf(stderr, "error: %s\n", exporter.error().c_str());
  std::thread interrupter;
  if (interrupt_ms >= 0) {
    interrupter = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(interrupt_ms));
      exporter.Interrupt();
    });
  }
  std::string signal;
  std::string hex;
  uint32_t count = 0;
  bool ok = true;
  while (std::cin >> signal >> count >> hex) {
    Export(exporter, signal, count, hex, deadline_ms);
    if (!forks)
      continue;
    const pid_t child = fork();
    if (child == 0) {
      exporter.AfterFork();
      Export(exporter, signal, count, hex, deadline_ms);
      // Exits with destructors, as a program does.
      return 0;
    }
    int status = 0;
    ok = waitpid(child, &status, 0) == child && status == 0 && ok;
  }
  if (interrupter.joinable())
    interrupter.join();
  return ok ? 0 : 1;
}
