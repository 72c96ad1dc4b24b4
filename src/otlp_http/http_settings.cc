// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp_http/http_settings.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>

#include "src/otlp/percent_decoding.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

// The characters of a token in RFC 9110.
bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kTokens =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return !name.empty() &&
         name.find_first_not_of(kTokens) == std::string_view::npos;
}

// A line break would begin another header.
bool IsHeaderValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 ? c != '\t' : c == 0x7f;
  });
}

// Reads the variables of one signal, of which the ones that name it win.
class VariableReader {
 public:
  VariableReader(std::string_view signal, std::string* warnings)
      : signal_(signal), warnings_(warnings) {}

  void Read(std::string_view path, HttpEndpoint* endpoint) {
    ReadUrl(path, endpoint);
    if (const char* text = Find("HEADERS")) {
      HttpHeaders headers;
      if (ParseHeaders(text, &headers))
        endpoint->headers = std::move(headers);
      else
        Warn(", which is not KEY=VALUE,...", "");
    }
    if (const char* text = Find("TIMEOUT")) {
      char* end = nullptr;
      errno = 0;
      const unsigned long long ms = strtoull(text, &end, 10);
      if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && ms > 0)
        endpoint->timeout_ms =
            static_cast<uint32_t>(std::min(ms, 0x7fffffffULL));
      else
        Warn("=", text, ", which is no number of milliseconds");
    }
    if (const char* text = Find("COMPRESSION")) {
      const std::string name = internal::LowerCase(text);
      if (name == "gzip" || name == "none")
        endpoint->gzip = name == "gzip";
      else
        Warn("=", text, ", which is neither gzip nor none");
    }
    if (const char* text = Find("PROTOCOL");
        text != nullptr && internal::LowerCase(text) != "http/protobuf")
      Warn("=", text, ", but http/protobuf is sent");
    ReadFile("CERTIFICATE", &endpoint->certificate);
    ReadFile("CLIENT_CERTIFICATE", &endpoint->client_certificate);
    ReadFile("CLIENT_KEY", &endpoint->client_key);
  }

 private:
  // Returns the value of the signal's variable, or else of the general one;
  // null if both are empty.
  const char* Find(std::string_view name) {
    if (const char* text = FindOwn(name))
      return text;
    return Get("OTEL_EXPORTER_OTLP_" + std::string(name));
  }
  const char* FindOwn(std::string_view name) {
    return Get("OTEL_EXPORTER_OTLP_" + std::string(signal_) + "_" +
               std::string(name));
  }
  const char* Get(std::string variable) {
    const char* const text = getenv(variable.c_str());
    if (text == nullptr || *text == '\0')
      return nullptr;
    variable_ = std::move(variable);
    return text;
  }

  void ReadUrl(std::string_view path, HttpEndpoint* endpoint) {
    const char* text = FindOwn("ENDPOINT");
    std::string url;
    if (text != nullptr) {
      url = text;
    } else {
      text = Get("OTEL_EXPORTER_OTLP_ENDPOINT");
      if (text == nullptr)
        return;
      url = text;
      // Not one of "http://", which is no URL, and stays none.
      if (url.back() == '/' && url.size() > 2 && url[url.size() - 2] != '/')
        url.pop_back();
      url += path;
    }
    endpoint->url = std::move(url);
  }

  void ReadFile(std::string_view name, std::string* path) {
    if (const char* text = Find(name))
      *path = text;
  }

  void Warn(std::string_view what,
            std::string_view value,
            std::string_view fault = {}) {
    if (warnings_ != nullptr) {
      ((((*warnings_ += variable_) += what) += value) += fault) +=
          ": it is ignored\n";
    }
  }

  const std::string_view signal_;
  std::string* const warnings_;
  // The variable that was found last.
  std::string variable_;
};

}  // namespace

bool ParseHeaders(std::string_view list, HttpHeaders* headers) {
  return internal::ForEachPair(
      list, [&](std::string_view name, std::string_view text) {
        std::string value;
        if (!internal::AppendPercentDecoded(text, &value) ||
            !IsHeaderName(name) || !IsHeaderValue(value))
          return false;
        headers->emplace_back(name, std::move(value));
        return true;
      });
}

std::string FindFault(const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    if (!IsHeaderName(name))
      return "'" + name + "' is no name of a header";
    if (!IsHeaderValue(value))
      return "the header '" + name + "' has a value with control characters";
  }
  return {};
}

HttpExporterOptions HttpExporterOptions::FromEnvironment(
    std::string* warnings) {
  HttpExporterOptions options;
  VariableReader("TRACES", warnings).Read("/v1/traces", &options.traces);
  VariableReader("LOGS", warnings).Read("/v1/logs", &options.logs);
  return options;
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
