// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/http_exporter.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <curl/curl.h>

#include "src/otlp_http/curl_functions.h"
#include "src/otlp_http/curl_sockets.h"
#include "src/otlp_http/gzip.h"
#include "src/otlp_http/http_answer.h"
#include "src/otlp_http/http_settings.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
// The part of an answer that is kept. The messages of servers are shorter.
constexpr size_t kMaxAnswer = 64 << 10;
// An answer that is longer is none.
constexpr size_t kMaxReceived = 4 << 20;

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// Returns the URL without user and password; empty, and a fault, if it is none.
std::string CheckedUrl(const CurlFunctions& curl,
                       const std::string& url,
                       std::string* fault) {
  std::string shown;
  CURLU* const parts = curl.url();
  char* scheme = nullptr;
  char* text = nullptr;
  // libcurl would take three slashes for two.
  if (parts != nullptr && url.find(":///") == std::string::npos &&
      curl.url_set(parts, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
      curl.url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
      (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)) {
    curl.url_set(parts, CURLUPART_USER, nullptr, 0);
    curl.url_set(parts, CURLUPART_PASSWORD, nullptr, 0);
    if (curl.url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK)
      shown = text;
  }
  curl.free(text);
  curl.free(scheme);
  curl.url_cleanup(parts);
  if (shown.empty()) {
    // The text may have a password.
    *fault =
        "the endpoint is no URL of http or https, such as "
        "http://localhost:4318/v1/traces";
    if (url.find('@') == std::string::npos) {
      std::string printable = url;
      std::replace_if(
          printable.begin(), printable.end(),
          [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
      *fault = "'" + printable + "': " + *fault;
    }
  }
  return shown;
}

// The handles that were in use at a fork(), in the child. Programs that look
// for leaks find them here.
struct Abandoned {
  CURLM* multi;
  CURL* easy[2];
  Abandoned* next;
};
Abandoned* abandoned = nullptr;

// True for what no later attempt can mend.
bool IsForGood(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_WRITE_ERROR:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The connections of an exporter, by libcurl.
class HttpExporter::Client {
 public:
  explicit Client(HttpExporterOptions options) : options_(std::move(options)) {
    curl_ = FindCurl(&error_);
    if (curl_ != nullptr &&
        curl_->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      error_ = "libcurl cannot be used";
      curl_ = nullptr;
    }
    if (curl_ == nullptr)
      return;
    Prepare(options_.traces, &targets_[0]);
    Prepare(options_.logs, &targets_[1]);
    answer_.reset(new (std::nothrow) uint8_t[kMaxAnswer]);
    if (!OpenHandles() || answer_ == nullptr)
      error_ = "no memory for libcurl";
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    if (curl_ == nullptr)
      return;
    const PipeSignalGuard guard;
    for (Target& target : targets_) {
      curl_->easy_cleanup(target.easy);
      curl_->slist_free_all(target.headers);
      curl_->slist_free_all(target.gzip_headers);
    }
    // After a fork(), the old one stays: see AfterFork().
    curl_->multi_cleanup(multi_);
    curl_->global_cleanup();
  }

  const std::string& error() const { return error_; }

  ExportResult Export(const Batch& batch) {
    if (!error_.empty())
      return ExportResult::Dropped(error_.c_str());
    const PipeSignalGuard guard;
    Target& target = targets_[batch.signal == Signal::kSpans ? 0 : 1];
    uint64_t backoff = options_.first_backoff_ms * kNsPerMs;
    reason_[0] = '\0';
    for (;;) {
      // Not even the first attempt of a batch comes before a Retry-After.
      if (!WaitUntil(std::min(target.not_before, batch.deadline)))
        return Drop(target, "the program shuts down");
      if (MonotonicNs() >= batch.deadline)
        return Drop(target, "its time was over");
      ExportResult result;
      uint64_t retry_after = 0;
      if (Attempt(&target, batch, &result, &retry_after))
        return result;
      if (is_interrupted_.load())
        return Drop(target, "the program shuts down");
      const uint64_t wait =
          retry_after != 0 ? retry_after : backoff / 2 + Random(backoff / 2);
      target.not_before = MonotonicNs() + wait;
      backoff = std::min(2 * backoff, options_.max_backoff_ms * kNsPerMs);
    }
  }

  void Interrupt() {
    is_interrupted_.store(true);
    if (multi_ != nullptr)
      curl_->multi_wakeup(multi_);
  }

  void AfterFork() {
    if (!error_.empty())
      return;
    // The parent's thread may have been within libcurl: all that is left
    // untouched, and not returned. Closing a connection would be said on the
    // parent's, too.
    sockets_.CloseAll();
    abandoned = new (std::nothrow)
        Abandoned{multi_, {targets_[0].easy, targets_[1].easy}, abandoned};
    if (!OpenHandles())
      error_ = "no memory for libcurl";
  }

 private:
  struct Target {
    const HttpEndpoint* endpoint = nullptr;
    std::string shown_url;
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    curl_slist* gzip_headers = nullptr;
    Gzip gzip;
    // The time on the monotonic clock of the next attempt.
    uint64_t not_before = 0;
  };

  void Prepare(const HttpEndpoint& endpoint, Target* target) {
    target->endpoint = &endpoint;
    std::string fault = FindFault(endpoint.headers);
    target->shown_url = CheckedUrl(*curl_, endpoint.url, &fault);
    if (!fault.empty() && error_.empty())
      error_ = fault;
    // libcurl would ask whether it may send a large batch, and wait for that.
    for (const char* line : {"Content-Type: application/x-protobuf", "Expect:",
                             "User-Agent: OTel-OTLP-Exporter-protozero"}) {
      Append(line, target);
    }
    for (const auto& [name, value] : endpoint.headers)
      // A header without a value ends in a semicolon for libcurl.
      Append((name + (value.empty() ? ";" : ": " + value)).c_str(), target);
    curl_slist* const more =
        curl_->slist_append(target->gzip_headers, "Content-Encoding: gzip");
    if (more == nullptr && error_.empty())
      error_ = "no memory for libcurl";
    else if (more != nullptr)
      target->gzip_headers = more;
  }

  void Append(const char* line, Target* target) {
    for (curl_slist** list : {&target->headers, &target->gzip_headers}) {
      curl_slist* const longer = curl_->slist_append(*list, line);
      if (longer != nullptr)
        *list = longer;
      else if (error_.empty())
        error_ = "no memory for libcurl";
    }
  }

  bool OpenHandles() {
    multi_ = curl_->multi_init();
    for (Target& target : targets_) {
      target.easy = curl_->easy_init();
      if (target.easy == nullptr || multi_ == nullptr)
        return false;
      Configure(target);
    }
    return true;
  }

  void Configure(const Target& target) {
    CURL* const easy = target.easy;
    const HttpEndpoint& endpoint = *target.endpoint;
    curl_->easy_setopt(easy, CURLOPT_URL, endpoint.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_->easy_setopt(easy, CURLOPT_PROTOCOLS,
                       CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    // The destructor does not wait for a name server.
    curl_->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_->easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Client::TakeAnswer);
    curl_->easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_->easy_setopt(easy, CURLOPT_ERRORBUFFER, curl_error_);
    curl_->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &SocketList::Open);
    curl_->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &sockets_);
    curl_->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &SocketList::Close);
    curl_->easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &sockets_);
    if (!endpoint.certificate.empty())
      curl_->easy_setopt(easy, CURLOPT_CAINFO, endpoint.certificate.c_str());
    if (!endpoint.client_certificate.empty()) {
      curl_->easy_setopt(easy, CURLOPT_SSLCERT,
                         endpoint.client_certificate.c_str());
    }
    if (!endpoint.client_key.empty())
      curl_->easy_setopt(easy, CURLOPT_SSLKEY, endpoint.client_key.c_str());
  }

  static size_t TakeAnswer(char* data, size_t, size_t size, void* client) {
    auto* const self = static_cast<Client*>(client);
    const size_t kept = std::min(size, kMaxAnswer - self->answer_size_);
    memcpy(self->answer_.get() + self->answer_size_, data, kept);
    self->answer_size_ += kept;
    self->received_ += size;
    return self->received_ <= kMaxReceived ? size : 0;
  }

  // Sends the batch. False if it is to be sent again, not before |retry_after|
  // if that is not 0; reason_ is why.
  bool Attempt(Target* target,
               const Batch& batch,
               ExportResult* result,
               uint64_t* retry_after) {
    long status = 0;
    const CURLcode code = Transfer(target, batch, &status);
    if (is_interrupted_.load() && code == CURLE_ABORTED_BY_CALLBACK)
      return false;
    reason_[0] = '\0';
    if (status >= 200 && status < 300) {
      *result = ReadSuccess(*target, batch, code);
      return true;
    }
    if (code != CURLE_OK) {
      Explain(
          target->shown_url, ": ",
          curl_error_[0] != '\0' ? curl_error_ : curl_->easy_strerror(code));
      *result = ExportResult::Dropped(reason_);
      return IsForGood(code);
    }
    char number[32];
    snprintf(number, sizeof(number), ": HTTP status %ld", status);
    const std::string_view message =
        ReadFailureMessage({answer_.get(), answer_size_});
    Explain(target->shown_url, number, message.empty() ? "" : ": ", message);
    curl_off_t seconds = 0;
    if (curl_->easy_getinfo(target->easy, CURLINFO_RETRY_AFTER, &seconds) ==
            CURLE_OK &&
        seconds > 0) {
      // A server has no right to more than a day.
      *retry_after = static_cast<uint64_t>(
                         std::min<curl_off_t>(seconds, curl_off_t{24} * 3600)) *
                     1000 * kNsPerMs;
    }
    *result = ExportResult::Dropped(reason_);
    return !MayBeTriedAgain(status);
  }

  // |status| stays what it was if nothing is sent: a handle that is used again
  // has the one of its last answer until then.
  CURLcode Transfer(Target* target, const Batch& batch, long* status) {
    CURL* const easy = target->easy;
    ConstBytes body{batch.data, batch.size};
    curl_slist* headers = target->headers;
    if (target->endpoint->gzip) {
      const ConstBytes small = target->gzip.Compress(batch.data, batch.size);
      if (small.size != 0) {
        body = small;
        headers = target->gzip_headers;
      }
    }
    const uint64_t now = MonotonicNs();
    const uint64_t left =
        batch.deadline > now ? (batch.deadline - now) / kNsPerMs : 0;
    const uint64_t limit = target->endpoint->timeout_ms;
    // For libcurl, 0 is no limit.
    const uint64_t timeout =
        std::max(limit == 0 ? left : std::min(left, limit), uint64_t{1});
    curl_->easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout));
    curl_->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                       static_cast<long>(timeout));
    curl_->easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_->easy_setopt(easy, CURLOPT_POST, 1L);
    curl_->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(body.size));
    curl_->easy_setopt(easy, CURLOPT_POSTFIELDS, body.data);
    answer_size_ = received_ = 0;
    curl_error_[0] = '\0';
    if (curl_->multi_add_handle(multi_, easy) != CURLM_OK)
      return CURLE_OUT_OF_MEMORY;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1;
    while (curl_->multi_perform(multi_, &running) == CURLM_OK && running != 0 &&
           !is_interrupted_.load()) {
      // libcurl's own timers end the wait, too.
      if (curl_->multi_poll(multi_, nullptr, 0, 1000, nullptr) != CURLM_OK)
        break;
    }
    int queued = 0;
    while (const CURLMsg* message = curl_->multi_info_read(multi_, &queued)) {
      if (message->msg == CURLMSG_DONE)
        code = message->data.result;
    }
    curl_->multi_remove_handle(multi_, easy);
    curl_->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
    return code;
  }

  // The server has taken the batch, also if the rest of its answer is lost.
  ExportResult ReadSuccess(const Target& target,
                           const Batch& batch,
                           CURLcode code) {
    ExportResult result = ExportResult::Exported(batch);
    if (code != CURLE_OK || received_ > answer_size_) {
      Explain(target.shown_url, ": the answer was ",
              received_ > answer_size_ ? "too long" : "cut off",
              ": if it refused a part is not known");
      result.reason = reason_;
      return result;
    }
    const PartialSuccess partial =
        ReadPartialSuccess({answer_.get(), answer_size_});
    if (partial.rejected > 0) {
      result.rejected = static_cast<uint32_t>(
          std::min<int64_t>(partial.rejected, batch.count));
      result.exported = batch.count - result.rejected;
    }
    if (result.rejected != 0 || !partial.message.empty()) {
      Explain(target.shown_url, ": ",
              partial.message.empty() ? "it refused a part" : partial.message);
      result.reason = reason_;
    }
    return result;
  }

  // Waits, without a connection. False if it was interrupted.
  bool WaitUntil(uint64_t time) {
    while (!is_interrupted_.load()) {
      const uint64_t now = MonotonicNs();
      if (now >= time)
        return true;
      const uint64_t ms = (time - now) / kNsPerMs + 1;
      curl_->multi_poll(multi_, nullptr, 0,
                        static_cast<int>(std::min<uint64_t>(ms, 1000)),
                        nullptr);
    }
    return false;
  }

  // Drops a batch; the reason of the last attempt, if any, comes first.
  ExportResult Drop(const Target& target, std::string_view why) {
    if (reason_[0] == '\0')
      AppendPrintable(target.shown_url, reason_, sizeof(reason_));
    AppendPrintable(": ", reason_, sizeof(reason_));
    AppendPrintable(why, reason_, sizeof(reason_));
    return ExportResult::Dropped(reason_);
  }

  template <typename... Texts>
  void Explain(const Texts&... texts) {
    reason_[0] = '\0';
    (AppendPrintable(texts, reason_, sizeof(reason_)), ...);
  }

  // Returns a number below |limit|, or 0. It only spreads attempts.
  uint64_t Random(uint64_t limit) {
    random_ ^= MonotonicNs() + reinterpret_cast<uintptr_t>(this);
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return limit == 0 ? 0 : random_ % limit;
  }

  const HttpExporterOptions options_;
  std::string error_;
  // Null if there is no libcurl.
  const CurlFunctions* curl_ = nullptr;
  SocketList sockets_;
  CURLM* multi_ = nullptr;
  Target targets_[2];
  std::atomic<bool> is_interrupted_{false};
  std::unique_ptr<uint8_t[]> answer_;
  size_t answer_size_ = 0;
  size_t received_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15;
  char curl_error_[CURL_ERROR_SIZE] = {};
  char reason_[512] = {};
};

HttpExporter::HttpExporter(HttpExporterOptions options)
    : client_(std::make_unique<Client>(std::move(options))) {}

HttpExporter::~HttpExporter() = default;

const std::string& HttpExporter::error() const {
  return client_->error();
}

ExportResult HttpExporter::Export(const Batch& batch) {
  return client_->Export(batch);
}

void HttpExporter::Interrupt() {
  client_->Interrupt();
}

void HttpExporter::AfterFork() {
  client_->AfterFork();
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
