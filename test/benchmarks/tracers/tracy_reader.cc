// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/tracers/tracy_reader.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <string>

#include "common/TracyProtocol.hpp"
#include "test/benchmarks/tracers/tracer.h"

namespace {

// The port of a client that TRACY_PORT tells no other.
constexpr int kDefaultPort = 8086;
constexpr int kTriesPerSecond = 100;
constexpr int kSeconds = 10;

bool ReadExactly(int fd, void* to, size_t size) {
  return recv(fd, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

}  // namespace

struct TracyReader::Shared {
  std::atomic<bool> is_attached;
  std::atomic<uint64_t> bytes;
};

TracyReader::TracyReader()
    : shared_(new(mmap(nullptr,
                       sizeof(Shared),
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS,
                       -1,
                       0)) Shared()) {}

TracyReader::~TracyReader() {
  if (is_attached())
    Detach();
}

uint64_t TracyReader::bytes() const {
  return shared_->bytes.load();
}

void TracyReader::Attach() {
  const char* text = getenv("TRACY_PORT");
  const int port = text ? atoi(text) : kDefaultPort;
  shared_->is_attached = false;
  process_ = fork();
  if (process_ == 0)
    Run(port);
  for (int i = 0; i < kSeconds * kTriesPerSecond; ++i) {
    if (shared_->is_attached)
      return;
    usleep(1000000 / kTriesPerSecond);
  }
  fprintf(stderr, "no client of Tracy listens to port %d\n", port);
  exit(1);
}

double TracyReader::processor_seconds() const {
  return seconds_of_ended_ +
         (is_attached() ? SecondsOfProcess(std::to_string(process_).c_str())
                        : 0);
}

void TracyReader::Detach() {
  seconds_of_ended_ = processor_seconds();
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

// Only calls that are safe in the child of a process with threads.
void TracyReader::Run(int port) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = -1;
  while (true) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
            0 &&
        ShakeHands(fd)) {
      break;
    }
    close(fd);
    usleep(1000000 / kTriesPerSecond);
  }
  shared_->is_attached = true;
  static char buffer[256 << 10];
  ssize_t size;
  while ((size = recv(fd, buffer, sizeof(buffer), 0)) > 0)
    shared_->bytes += static_cast<uint64_t>(size);
  _exit(0);
}

bool TracyReader::ShakeHands(int fd) {
  char hello[tracy::HandshakeShibbolethSize + sizeof(uint32_t)];
  memcpy(hello, tracy::HandshakeShibboleth, tracy::HandshakeShibbolethSize);
  memcpy(hello + tracy::HandshakeShibbolethSize, &tracy::ProtocolVersion,
         sizeof(uint32_t));
  tracy::HandshakeStatus status;
  tracy::WelcomeMessage welcome;
  return send(fd, hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello) &&
         ReadExactly(fd, &status, sizeof(status)) &&
         status == tracy::HandshakeWelcome &&
         ReadExactly(fd, &welcome, sizeof(welcome));
}
