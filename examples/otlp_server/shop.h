// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The requests that the server answers, with their spans.

#ifndef EXAMPLES_OTLP_SERVER_SHOP_H_
#define EXAMPLES_OTLP_SERVER_SHOP_H_

#include <stddef.h>
#include <stdlib.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <httplib.h>

#include "protozero/otlp/span.h"
#include "protozero/otlp/trace_context.h"

namespace otlp = protozero::otlp;

// Answers GET /cart?user=NAME&items=3,5,8. A request has seven spans with
// nineteen attributes. Two parameters put faults in: `sleep=MS` makes the
// database slow, and `fail` makes the carrier fail.
//
// |Tracer| is otlp::Tracer. It is a parameter because benchmarks run the same
// requests with another library.
template <typename Tracer>
class Shop {
 public:
  explicit Shop(const Tracer& tracer) : tracer_(tracer) {}

  void Answer(const httplib::Request& request, httplib::Response& response) {
    // The span continues the caller's trace. Without a header, or with a
    // malformed one, it begins a trace.
    const otlp::SpanContext caller =
        otlp::SpanContext::FromHeaders(request.get_header_value("traceparent"),
                                       request.get_header_value("tracestate"))
            .value_or(otlp::SpanContext());
    auto span = tracer_.StartSpan("GET /cart", otlp::SpanKind::kServer, caller);
    // The spans that begin below become its children.
    const otlp::Scope scope(span.context());
    span.SetAttribute("http.request.method", request.method);
    span.SetAttribute("http.route", "/cart");
    span.SetAttribute("url.path", request.path);
    span.SetAttribute("client.address", request.remote_addr);

    Authenticate(request);
    const std::string items = LoadCart(request);
    const size_t in_stock = CountStock(request, items);
    const size_t cents = ComputePrice(in_stock);
    if (!ChooseCarrier(request)) {
      response.status = 503;
      span.SetStatus(otlp::StatusCode::kError, "no carrier");
    } else {
      response.status = 200;
    }
    Render(items, cents, response);
    span.SetAttribute("http.response.status_code", response.status);
  }

 private:
  void Authenticate(const httplib::Request& request) const {
    auto span = tracer_.StartSpan("authenticate");
    span.SetAttribute("user.id", request.get_param_value("user"));
    span.SetAttribute("session.is_new", false);
  }

  std::string LoadCart(const httplib::Request& request) const {
    auto span = tracer_.StartSpan("GET cart", otlp::SpanKind::kClient);
    std::string items = request.get_param_value("items");
    span.SetAttribute("db.system.name", "redis");
    span.SetAttribute("db.operation.name", "GET");
    span.SetAttribute("cache.hit", !items.empty());
    return items;
  }

  // Returns the number of items, all of which are in stock.
  size_t CountStock(const httplib::Request& request,
                    std::string_view items) const {
    auto span = tracer_.StartSpan("SELECT stock", otlp::SpanKind::kClient);
    span.SetAttribute("db.system.name", "postgresql");
    span.SetAttribute("db.query.text",
                      "SELECT count FROM stock WHERE item IN ($1)");
    if (request.has_param("sleep")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(
          atoi(request.get_param_value("sleep").c_str())));
    }
    size_t rows = items.empty() ? 0 : 1;
    for (const char letter : items)
      rows += letter == ',';
    span.SetAttribute("db.response.returned_rows", rows);
    return rows;
  }

  size_t ComputePrice(size_t items) const {
    auto span = tracer_.StartSpan("compute price");
    const size_t cents = items * 1299 + (items < 3 ? 499 : 0);
    span.SetAttribute("shop.cents", cents);
    span.SetAttribute("shop.currency", "EUR");
    return cents;
  }

  bool ChooseCarrier(const httplib::Request& request) const {
    auto span = tracer_.StartSpan("POST /carriers", otlp::SpanKind::kClient);
    const bool failed = request.has_param("fail");
    span.SetAttribute("server.address", "carriers.example.com");
    span.SetAttribute("http.response.status_code", failed ? 500 : 200);
    if (failed)
      span.SetStatus(otlp::StatusCode::kError, "500 Internal Server Error");
    return !failed;
  }

  void Render(std::string_view items,
              size_t cents,
              httplib::Response& response) const {
    auto span = tracer_.StartSpan("render");
    std::string body = "{\"items\": [";
    body.append(items).append("], \"cents\": ");
    body.append(std::to_string(cents)).append("}\n");
    span.SetAttribute("http.response.body.size", body.size());
    span.SetAttribute("shop.template", "cart.json");
    response.set_content(std::move(body), "application/json");
  }

  const Tracer& tracer_;
};

#endif  // EXAMPLES_OTLP_SERVER_SHOP_H_
