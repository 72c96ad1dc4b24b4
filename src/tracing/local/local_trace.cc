// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/local_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/track_event/category_rules.h"
#include "src/tracing/track_event/trace_extensions.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr uint32_t kConnectTimeoutMs = 10000;
constexpr size_t kPageSize = 16 * 1024;

// Nobody guesses it.
std::string RandomName() {
  uint8_t bytes[16] = {};
  size_t size = 0;
  while (size < sizeof(bytes)) {
    const ssize_t got = getrandom(bytes + size, sizeof(bytes) - size, 0);
    if (got > 0) {
      size += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      break;
    }
  }
  std::string name = "protozero-local-";
  for (const uint8_t byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

}  // namespace

class LocalTrace::Impl final : private TracingService::Consumer {
 public:
  explicit Impl(Options options) : options_(std::move(options)) { Start(); }
  ~Impl() override {
    if (owns_fd_)
      close(options_.fd);
  }

  bool is_forked() const { return getpid() != pid_; }

  bool Stop() {
    {
      std::unique_lock<std::mutex> lock(lock_);
      if (session_ != 0) {
        if (!is_stopping_) {
          is_stopping_ = true;
          lock.unlock();
          service_.StopTracing(session_);
          host_->Wakeup();
          lock.lock();
        }
        changed_.wait(lock, [this] { return is_written_; });
      }
      if (is_ended_) {
        return error_.empty();
      }
      is_ended_ = true;
    }
    // It says goodbye to the service, which has to be there.
    producer_.reset();
    if (thread_.is_started()) {
      is_host_stopping_.store(true, std::memory_order_relaxed);
      host_->Wakeup();
      thread_.Join();
    }
    host_.reset();
    return error().empty();
  }

  std::string error() const {
    std::lock_guard<std::mutex> lock(lock_);
    return error_;
  }
  TraceStats stats() const {
    return session_ != 0 ? service_.GetStats(session_) : TraceStats();
  }

 private:
  void Start() {
    const std::string name = RandomName();
    if (!options_.path.empty()) {
      options_.fd = open(options_.path.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (options_.fd < 0)
        return SetError(options_.path + ": " + strerror(errno));
      owns_fd_ = true;
    }
    ServiceHost::Options host_options;
    host_options.socket = "@" + name;
    host_.reset(new ServiceHost(&service_, std::move(host_options)));
    std::string why;
    if (!host_->Listen(&why))
      return SetError("cannot listen: " + why);

    TraceConfig config;
    config.buffers.push_back({options_.buffer_size, options_.fill_policy});
    config.data_sources.emplace_back();
    TraceConfig::DataSource& source = config.data_sources.back();
    source.config.name = TrackEventDataSource()->descriptor().name;
    source.config.buffer_exhausted_policy = options_.exhausted_policy;
    source.config.raw_fields = internal::EncodeCategories(options_.categories);
    // What the oldest chunks say is forgotten with them.
    if (options_.fill_policy == BufferFillPolicy::kRingBuffer)
      source.config.raw_fields += internal::CategoryRules::ClearEachChunk();
    // No other one knows that name.
    source.producer_name_filter.push_back(name);
    config.duration_ms = options_.duration_ms;
    // The descriptors of its tracks say it once.
    config.stamps_pid = false;
    if (options_.fill_policy == BufferFillPolicy::kDiscard) {
      config.write_period_ms = std::max(options_.write_period_ms, 1u);
      // What threads have begun to fill is written, too.
      config.flush_period_ms = config.write_period_ms;
    }
    session_ = service_.StartTracing(config, this, &why);
    if (session_ == 0)
      return SetError(why);

    const int error = thread_.Start<&Impl::Run>(this);
    if (error != 0) {
      is_written_ = true;
      return SetError(std::string("no thread: ") + strerror(error));
    }
    Producer::Options producer_options;
    producer_options.name = name;
    producer_options.socket = "@" + name;
    producer_options.shared_memory_size = options_.shared_memory_size;
    producer_options.page_size = kPageSize;
    producer_.reset(new Producer(std::move(producer_options)));
    producer_->RegisterDataSource(TrackEventDataSource());
    if (!producer_->Sync(kConnectTimeoutMs))
      SetError(producer_->why_off());
  }

  // The thread.
  void Run() {
    while (!is_host_stopping_.load(std::memory_order_relaxed)) {
      host_->RunOnce(UINT32_MAX);
      if (options_.fill_policy == BufferFillPolicy::kRingBuffer)
        WriteRing();
    }
  }

  // Nobody reads a ring buffer until it is complete.
  void WriteRing() {
    if (is_ring_written_ ||
        service_.GetState(session_) != TracingService::kStopped) {
      return;
    }
    is_ring_written_ = true;
    WriteExtensions();
    OnWritten(service_.ReadPackets(session_,
                                   [this](const uint8_t* data, size_t size) {
                                     return Write(data, size);
                                   }));
  }

  // The ring may have forgotten them.
  void WriteExtensions() {
    const internal::TraceExtensions& extensions =
        internal::GetTraceExtensions();
    for (size_t i = 0; i < extensions.size(); ++i) {
      HeapBuffered<trace::Trace> file;
      file->add_packet()->set_extension_descriptor()->set_extension_set(
          extensions[i]);
      const std::vector<uint8_t> bytes = file.SerializeAsArray();
      Write(bytes.data(), bytes.size());
    }
  }

  void SetError(const std::string& error) {
    std::lock_guard<std::mutex> lock(lock_);
    if (error_.empty())
      error_ = error.empty() ? "not connected" : error;
  }

  bool Write(const uint8_t* data, size_t size) {
    if (options_.sink)
      return options_.sink(data, size);
    while (size != 0) {
      const ssize_t written = write(options_.fd, data, size);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0) {
        SetError(std::string("cannot write: ") + strerror(errno));
        return false;
      }
      data += written;
      size -= static_cast<size_t>(written);
    }
    return true;
  }

  void OnWritten(bool complete) {
    if (!complete)
      SetError("not all of the trace was written");
    std::lock_guard<std::mutex> lock(lock_);
    is_written_ = true;
    changed_.notify_all();
  }

  // TracingService::Consumer:
  bool OnTraceData(TracingSessionID,
                   const uint8_t* data,
                   size_t size) override {
    return Write(data, size);
  }
  void OnTraceWritten(TracingSessionID, bool complete) override {
    OnWritten(complete);
  }

  const pid_t pid_ = getpid();
  Options options_;
  bool owns_fd_ = false;
  TracingService service_;
  std::unique_ptr<ServiceHost> host_;
  std::unique_ptr<Producer> producer_;
  BackgroundThread thread_;
  std::atomic<bool> is_host_stopping_{false};
  // The thread's.
  bool is_ring_written_ = false;
  TracingSessionID session_ = 0;

  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::string error_;
  bool is_stopping_ = false;
  bool is_written_ = false;
  bool is_ended_ = false;
};

LocalTrace::LocalTrace(const std::string& path) {
  Options options;
  options.path = path;
  impl_.reset(new Impl(std::move(options)));
}

LocalTrace::LocalTrace(Options options) : impl_(new Impl(std::move(options))) {}

LocalTrace::~LocalTrace() {
  // What is left of it in a child process may be in any state.
  if (impl_->is_forked()) {
    impl_.release();
    return;
  }
  impl_->Stop();
}

bool LocalTrace::Stop() {
  return !impl_->is_forked() && impl_->Stop();
}

std::string LocalTrace::error() const {
  return impl_->error();
}

TraceStats LocalTrace::stats() const {
  return impl_->stats();
}

PROTOZERO_ABI_END
}  // namespace protozero
