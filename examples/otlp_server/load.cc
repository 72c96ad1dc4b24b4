// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A closed loop of requests to otlp_server. Each connection sends its next
// request when it has the answer to the last one.
//
//   otlp_load PORT [CONNECTIONS [REQUESTS [FAILING]]]
//
// REQUESTS are those of each connection; one in FAILING fails. It prints one
// line of JSON. The first tenth of the requests is not measured.

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::string RequestOf(const char* fault) {
  return std::string("GET /cart?user=ada&items=3,5,8,13") + fault +
         " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: otlp_load\r\n\r\n";
}

// A connection that sends one request at a time.
class Connection {
 public:
  explicit Connection(uint16_t port)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    is_open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                       sizeof(address)) == 0;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(socket_); }

  // Returns the status of the answer, after its last byte; 0 if there is none.
  int Ask(const std::string& request) {
    if (!is_open_ || send(socket_, request.data(), request.size(),
                          MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return 0;
    answer_.clear();
    size_t size = SIZE_MAX;  // Headers and body.
    while (answer_.size() < size) {
      char bytes[4096];
      const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
      if (got <= 0)
        return 0;
      answer_.append(bytes, static_cast<size_t>(got));
      const size_t headers = answer_.find("\r\n\r\n");
      if (size == SIZE_MAX && headers != std::string::npos)
        size = headers + 4 + BodySize();
    }
    return answer_.size() < 12 ? 0 : atoi(answer_.c_str() + 9);
  }

 private:
  size_t BodySize() const {
    constexpr char kHeader[] = "\r\nContent-Length: ";
    const size_t found = answer_.find(kHeader);
    return found == std::string::npos
               ? 0
               : strtoull(answer_.c_str() + found + strlen(kHeader), nullptr,
                          10);
  }

  const int socket_;
  bool is_open_ = false;
  std::string answer_;
};

// The results of one connection.
struct Results {
  std::vector<uint64_t> latencies;  // In nanoseconds.
  Clock::time_point first, last;    // Around the measured ones.
  uint64_t ok = 0;
  uint64_t failed = 0;
  uint64_t unanswered = 0;
};

Results Run(uint16_t port, size_t requests, size_t failing) {
  const std::string good = RequestOf("");
  const std::string bad = RequestOf("&fail");
  Results results;
  results.latencies.reserve(requests);
  Connection connection(port);
  for (size_t i = 0; i < requests; ++i) {
    const Clock::time_point start = Clock::now();
    const int status =
        connection.Ask(failing != 0 && i % failing == 0 ? bad : good);
    results.last = Clock::now();
    ++(status == 200   ? results.ok
       : status == 503 ? results.failed
                       : results.unanswered);
    if (i == requests / 10)
      results.first = start;
    if (i >= requests / 10) {
      results.latencies.push_back(
          static_cast<uint64_t>((results.last - start).count()));
    }
  }
  return results;
}

double Microseconds(const std::vector<uint64_t>& sorted, double share) {
  const auto index =
      static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[std::min(index, sorted.size() - 1)]) / 1000;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, long value) {
    return argc > index ? strtol(argv[index], nullptr, 10) : value;
  };
  const auto port = static_cast<uint16_t>(number(1, 8080));
  const auto connections = static_cast<size_t>(number(2, 4));
  const auto requests = static_cast<size_t>(number(3, 1000));
  const auto failing = static_cast<size_t>(number(4, 0));

  std::vector<Results> all(connections);
  std::vector<std::thread> threads;
  for (Results& results : all)
    threads.emplace_back([&] { results = Run(port, requests, failing); });
  for (std::thread& thread : threads)
    thread.join();

  Results sum;
  sum.first = Clock::time_point::max();
  for (const Results& one : all) {
    sum.ok += one.ok;
    sum.failed += one.failed;
    sum.unanswered += one.unanswered;
    sum.first = std::min(sum.first, one.first);
    sum.last = std::max(sum.last, one.last);
    sum.latencies.insert(sum.latencies.end(), one.latencies.begin(),
                         one.latencies.end());
  }
  if (sum.latencies.empty())
    return 1;
  std::sort(sum.latencies.begin(), sum.latencies.end());
  const std::chrono::duration<double> seconds = sum.last - sum.first;
  printf("{\"ok\": %" PRIu64 ", \"failed\": %" PRIu64
         ", \"unanswered\": %" PRIu64
         ", \"requests_per_second\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
         "\"p999_us\": %.1f}\n",
         sum.ok, sum.failed, sum.unanswered,
         static_cast<double>(sum.latencies.size()) / seconds.count(),
         Microseconds(sum.latencies, 0.5), Microseconds(sum.latencies, 0.99),
         Microseconds(sum.latencies, 0.999));
  return sum.unanswered == 0 ? 0 : 1;
}
