// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_HTTP_EXPORTER_H_
#define INCLUDE_PROTOZERO_OTLP_HTTP_EXPORTER_H_

#include <stdint.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protozero/otlp/batch_sink.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The place that one signal is sent to, and how.
struct HttpEndpoint {
  // The whole URL, of http or https. A user and a password in it are sent as
  // basic authentication, and appear in no message.
  std::string url;
  // Further headers of each request, by name.
  std::vector<std::pair<std::string, std::string>> headers;
  // The time for one attempt; 0 for that of the batch.
  uint32_t timeout_ms = 10000;
  bool gzip = false;
  // Files in PEM format: the certificates that a server's is checked with,
  // instead of the system's, and this client's own with its key.
  std::string certificate;
  std::string client_certificate;
  std::string client_key;
};

// The settings of an HttpExporter.
struct HttpExporterOptions {
  HttpEndpoint traces{
      "http://localhost:4318/v1/traces", {}, 10000, false, {}, {}, {}};
  HttpEndpoint logs{
      "http://localhost:4318/v1/logs", {}, 10000, false, {}, {}, {}};
  // The wait before a batch is tried again, unless the server says another
  // time: a random one between a half of this and all of it, then twice as long
  // with each attempt, up to the maximum.
  uint32_t first_backoff_ms = 1000;
  uint32_t max_backoff_ms = 30000;

  // Returns the settings in the environment variables OTEL_EXPORTER_OTLP_* and
  // OTEL_EXPORTER_OTLP_{TRACES,LOGS}_*: ENDPOINT, HEADERS, TIMEOUT,
  // COMPRESSION, CERTIFICATE, CLIENT_CERTIFICATE, CLIENT_KEY. An empty variable
  // is none. A value that cannot be used leaves the setting as it was, and a
  // line about it is appended to |warnings|, which may be null.
  static HttpExporterOptions FromEnvironment(std::string* warnings = nullptr);
};

// Sends batches by OTLP over HTTP, with libcurl:
//
//   otlp::HttpExporter exporter(otlp::HttpExporterOptions::FromEnvironment());
//   otlp::Pipeline pipeline(options, &exporter);
//
// A batch is tried again, until its deadline, if the server could not be
// reached, did not answer, or answered 429, 502, 503 or 504; it waits as long
// as a Retry-After says. With any other status but 2xx it is dropped, and the
// server's message is the reason. A batch may arrive twice if the answer to the
// first attempt was lost.
//
// Redirections are not followed. Proxies are those that libcurl finds in the
// environment. SIGPIPE is never raised. In the child of a fork(), new
// connections are made; the parent's stay usable. Each such child keeps some
// KiB and two descriptors of libcurl's that cannot be given back.
//
// One thread at a time may call Export(), as Pipeline does; any thread
// Interrupt().
class HttpExporter : public BatchSink {
 public:
  // Makes an exporter with these settings, and no connection yet.
  explicit HttpExporter(
      HttpExporterOptions options = HttpExporterOptions::FromEnvironment());
  ~HttpExporter() override;

  // Returns the fault in the settings, or of libcurl; empty if there is none.
  // All batches are dropped with this reason.
  const std::string& error() const;

  ExportResult Export(const Batch& batch) override;
  // Interrupts for good: all later batches are dropped.
  void Interrupt() override;
  void AfterFork() override;

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_HTTP_EXPORTER_H_
