// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_OTLP_SERVER_HTTP_SERVICE_H_
#define EXAMPLES_OTLP_SERVER_HTTP_SERVICE_H_

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <string>
#include <thread>

#include <httplib.h>

// An HTTP server on this host that ends at SIGTERM and SIGINT. Make it before
// all threads: they inherit that the signals wait for Run().
class HttpService {
 public:
  HttpService() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    server_.set_tcp_nodelay(true);
    // Clients keep their connections as long as they like.
    server_.set_keep_alive_max_count(SIZE_MAX);
  }

  httplib::Server& server() { return server_; }

  // Prints the port, which is any free one if |port| is 0, and answers until a
  // signal comes. Requests that have begun are answered; an idle connection
  // delays the end by five seconds at most. False if the port cannot be had.
  bool Run(int port) {
    if (port == 0)
      port = server_.bind_to_any_port("127.0.0.1");
    else if (!server_.bind_to_port("127.0.0.1", port))
      port = -1;
    if (port < 0) {
      fprintf(stderr, "cannot listen\n");
      return false;
    }
    printf("listens on port %d\n", port);
    fflush(stdout);
    std::thread listener([this] { server_.listen_after_bind(); });
    int signal = 0;
    sigwait(&signals_, &signal);
    while (!server_.is_running())  // Before, stop() has no effect.
      std::this_thread::yield();
    server_.stop();
    listener.join();
    return true;
  }

 private:
  sigset_t signals_;
  httplib::Server server_;
};

#endif  // EXAMPLES_OTLP_SERVER_HTTP_SERVICE_H_
