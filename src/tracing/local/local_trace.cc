// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/local_trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/local/flight_recorder.h"
#include "src/tracing/local/thread_recorder.h"
#include "src/tracing/local/trace_output.h"
#include "src/tracing/shared_memory/no_cancellation.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/track_event/category_rules.h"
#include "src/tracing/track_event/registry.h"
#include "src/tracing/track_event/trace_extensions.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr uint32_t kConnectTimeoutMs = 10000;
constexpr size_t kPageSize = 16 * 1024;

// A text so short that a std::string of it does not allocate.
constexpr char kNoMemory[] = "out of memory";
constexpr char kInChild[] = "a child process";
constexpr char kTaken[] =
    "this program has closed or replaced the file descriptor";

}  // namespace

class LocalTrace::Impl final : private TracingService::Consumer {
 public:
  // Throws std::bad_alloc; so do error() and stats().
  explicit Impl(Options options) : options_(std::move(options)) {
    error_.reserve(options_.path.size() + options_.flight_recorder.size() +
                   kMaxReasonSize);
  }
  ~Impl() override = default;

  // Starts recording. Stop() has to follow, even if this fails.
  void Start() {
    const NoCancellation no_cancellation;
    if (!RunsInMemory([this] { StartSession(); }))
      SetError(kNoMemory);
  }
  bool Stop() {
    const NoCancellation no_cancellation;
    std::lock_guard<std::mutex> stop_lock(stop_lock_);
    if (!std::exchange(is_ended_, true)) {
      End();
      output_.Unlock();
    }
    std::lock_guard<std::mutex> lock(lock_);
    return error_.empty();
  }

  bool is_forked() const { return getpid() != pid_; }
  std::string error() const {
    std::lock_guard<std::mutex> lock(lock_);
    return error_.empty() && producer_ != nullptr ? producer_->why_off()
                                                  : error_;
  }
  std::string scheduling_error() const {
    if (!wants_threads())
      return "";
    if (has_flight_recorder())
      return "a flight recorder has no thread that could record others";
    return threads_ == nullptr ? "it does not record" : threads_->error();
  }
  bool Snapshot(const char* path) const {
    return flight_recorder_.Snapshot(path);
  }
  TraceStats stats() const {
    if (flight_recorder_.has_started()) {
      TraceBufferStats buffer;
      buffer.buffer_size = flight_recorder_.size();
      buffer.lost = flight_recorder_.losses();
      buffer.packets_begun = buffer.lost.total();
      TraceStats stats;
      stats.buffers.push_back(buffer);
      return stats;
    }
    return session_ != 0 ? service_.GetStats(session_) : TraceStats();
  }

 private:
  // The size at which reasons are cut.
  static constexpr size_t kMaxReasonSize = 256;

  bool is_ring() const {
    return options_.fill_policy == BufferFillPolicy::kRingBuffer;
  }

  // Starts the session. Throws std::bad_alloc.
  void StartSession() {
    const int num_outputs =
        (options_.path.empty() ? 0 : 1) + (options_.fd >= 0 ? 1 : 0) +
        (options_.sink ? 1 : 0) + (has_flight_recorder() ? 1 : 0);
    if (num_outputs == 0)
      return SetError("there is no path, descriptor or sink");
    if (num_outputs > 1)
      return SetError("there is more than one of path, descriptor and sink");
    if (has_flight_recorder())
      return StartFlightRecorder();
    if (options_.fd >= 0)
      output_.Use(options_.fd);
    else if (!options_.path.empty() && !output_.Open(options_.path))
      return SetError(options_.path, strerror(errno));
    std::string why;
    session_ = service_.StartTracing(Config(), this, &why);
    if (session_ == 0)
      return SetError(why.empty() ? kNoMemory : why);

    ServiceHost::Options host_options;
    // The connection has no time limit, because the program may be stopped
    // meanwhile.
    host_options.introduction_timeout_ms = UINT32_MAX;
    host_.reset(new ServiceHost(&service_, std::move(host_options)));
    const int connection = host_->ConnectProducer();
    if (connection < 0)
      return SetError("no connection", strerror(errno));
    Producer::Options producer_options;
    producer_options.socket = "this program";
    producer_options.shared_memory_size = options_.shared_memory_size;
    producer_options.page_size = kPageSize;
    producer_.reset(new (std::nothrow)
                        Producer(std::move(producer_options), connection));
    if (producer_ == nullptr) {
      close(connection);
      return SetError(kNoMemory);
    }
    const int error = thread_.Start<&ServiceHost::Run>(host_.get());
    if (error != 0)
      return SetError("no thread", strerror(error));
    if (!producer_->RegisterDataSource(TrackEventDataSource()))
      return SetError(kNoMemory);
    if (wants_threads()) {
      internal::KernelEvents::Options threads;
      threads.has_switches = options_.scheduling;
      threads.samples_hz = options_.samples_hz;
      threads.follows_processes = false;
      threads_ = std::make_unique<ThreadRecorder>(threads);
      if (!producer_->RegisterDataSource(threads_->source()))
        return SetError(kNoMemory);
    }
    if (!producer_->Sync(kConnectTimeoutMs)) {
      why = producer_->why_off();
      SetError(why.empty() ? "not connected" : why);
    } else if (threads_ != nullptr && threads_->source()->is_enabled()) {
      threads_->WaitUntilBegun();
    }
  }

  bool wants_threads() const {
    return options_.scheduling || options_.samples_hz != 0;
  }

  bool has_flight_recorder() const {
    return !options_.flight_recorder.empty() ||
           options_.flight_recorder_in_memory;
  }
  void StartFlightRecorder() {
    DataSourceConfig source = SourceConfig();
    source.ring_bytes = options_.buffer_size;
    std::string why;
    if (!flight_recorder_.Start(options_.flight_recorder, options_.buffer_size,
                                TrackEventDataSource(), std::move(source),
                                &why)) {
      SetError(why);
    }
  }

  DataSourceConfig SourceConfig() const {
    DataSourceConfig source;
    source.name = TrackEventDataSource()->descriptor().name;
    source.buffer_exhausted_policy = options_.exhausted_policy;
    source.raw_fields = internal::EncodeCategories(options_.categories);
    return source;
  }

  TraceConfig Config() const {
    TraceConfig config;
    config.buffers.push_back({options_.buffer_size, options_.fill_policy});
    config.data_sources.emplace_back();
    config.data_sources.back().config = SourceConfig();
    if (wants_threads()) {
      config.data_sources.emplace_back();
      config.data_sources.back().config.name = ThreadRecorder::kDataSource;
    }
    config.duration_ms = options_.duration_ms;
    // The descriptors of the process's tracks have it once.
    config.stamps_pid = false;
    if (is_ring()) {
      config.is_read_at_end = true;
      config.write_period_ms = UINT32_MAX;
    } else {
      config.write_period_ms = std::max(options_.write_period_ms, 1u);
      // Flushing adds the chunks that threads have begun to fill.
      config.flush_period_ms = config.write_period_ms;
    }
    return config;
  }

  void End() {
    flight_recorder_.Stop();
    if (thread_.is_started()) {
      service_.StopTracing(session_);
      host_->Wakeup();
      std::unique_lock<std::mutex> lock(lock_);
      changed_.wait(lock, [this] { return is_written_; });
    }
    std::unique_ptr<Producer> producer;
    {
      std::lock_guard<std::mutex> lock(lock_);
      producer = std::move(producer_);
    }
    std::string why;
    if (producer != nullptr)
      why = producer->why_off();
    // The producer says goodbye to the service, which has to exist until then.
    producer.reset();
    if (thread_.is_started()) {
      host_->Stop();
      thread_.Join();
    }
    if (host_ != nullptr && host_->num_out_of_memory() != 0)
      SetError(kNoMemory);
    if (internal::NumEventsWithoutMemory() != events_without_memory_)
      SetError(kNoMemory);
    SetError(why);
    host_.reset();
    service_.DiscardPackets(session_);
  }

  // Keeps the first error that is not empty. Does not allocate: |error_| has
  // room, or the text is cut.
  void SetError(std::string_view what, std::string_view reason = {}) {
    std::lock_guard<std::mutex> lock(lock_);
    if (!error_.empty())
      return;
    const auto append = [this](std::string_view text) {
      error_.append(text.substr(0, error_.capacity() - error_.size()));
    };
    append(what);
    if (!reason.empty()) {
      append(": ");
      append(reason);
    }
  }

  // Writes bytes. Called by the thread.
  bool Write(const uint8_t* data, size_t size) {
    if (options_.sink) {
      bool is_taken = false;
      const bool has_memory =
          RunsInMemory([&] { is_taken = options_.sink(data, size); });
      if (!is_taken)
        SetError(has_memory ? "the sink has refused something" : kNoMemory);
      return is_taken;
    }
    const bool is_written = output_.Write(data, size);
    if (!is_written)
      SetError("cannot write", errno == EBADF ? kTaken : strerror(errno));
    return is_written;
  }

  // Writes extensions, which the ring may have forgotten. Throws
  // std::bad_alloc.
  void WriteExtensions() {
    const internal::TraceExtensions& extensions =
        internal::GetTraceExtensions();
    for (size_t i = 0; i < extensions.size(); ++i) {
      HeapBuffered<trace::Trace> file;
      file->add_packet()->set_extension_descriptor()->set_extension_set(
          extensions[i]);
      const std::vector<uint8_t> bytes = file.SerializeAsArray();
      if (file.status() != WriteStatus::kOk)
        return SetError(kNoMemory);
      Write(bytes.data(), bytes.size());
    }
  }

  // TracingService::Consumer:
  bool OnTraceData(TracingSessionID,
                   const uint8_t* data,
                   size_t size) override {
    if (is_ring() && !std::exchange(has_extensions_, true) &&
        !RunsInMemory([this] { WriteExtensions(); })) {
      SetError(kNoMemory);
    }
    return Write(data, size);
  }
  void OnTraceWritten(TracingSessionID, bool complete) override {
    // If Write() has not set an error, there was no memory to read.
    if (!complete)
      SetError(kNoMemory);
    std::lock_guard<std::mutex> lock(lock_);
    is_written_ = true;
    changed_.notify_all();
  }

  const pid_t pid_ = getpid();
  Options options_;
  const uint64_t events_without_memory_ = internal::NumEventsWithoutMemory();
  TraceOutput output_;
  // Has not started if the output is another one.
  FlightRecorder flight_recorder_;
  TracingService service_;
  TracingSessionID session_ = 0;
  std::unique_ptr<ServiceHost> host_;
  // Null if it is not wanted. The producer calls it.
  std::unique_ptr<ThreadRecorder> threads_;
  // The thread that runs |host_|.
  BackgroundThread thread_;
  // A flag of that thread.
  bool has_extensions_ = false;

  // A lock that the stopping thread holds. It is taken before |lock_|.
  std::mutex stop_lock_;
  bool is_ended_ = false;

  mutable std::mutex lock_;
  // A condition that is notified when the session is written.
  std::condition_variable changed_;
  bool is_written_ = false;
  // The producer; null at the end. Only the stopping thread changes it.
  std::unique_ptr<Producer> producer_;
  std::string error_;
};

// A LocalTrace without memory for its Impl records nothing.

LocalTrace::LocalTrace(const std::string& path) {
  RunsInMemory([&] {
    Options options;
    options.path = path;
    impl_.reset(new Impl(std::move(options)));
  });
  if (impl_ != nullptr)
    impl_->Start();
}

LocalTrace::LocalTrace(Options options) {
  RunsInMemory([&] { impl_.reset(new Impl(std::move(options))); });
  if (impl_ != nullptr)
    impl_->Start();
}

LocalTrace::~LocalTrace() {
  // In a child process, the remains of it may be in any state.
  if (impl_ != nullptr && impl_->is_forked())
    impl_.release();
  else
    Stop();
}

bool LocalTrace::Stop() {
  return impl_ != nullptr && !impl_->is_forked() && impl_->Stop();
}

std::string LocalTrace::error() const {
  std::string error = kNoMemory;
  if (impl_ != nullptr && impl_->is_forked())
    error = kInChild;
  else if (impl_ != nullptr)
    RunsInMemory([&] { error = impl_->error(); });
  return error;
}

std::string LocalTrace::scheduling_error() const {
  std::string error = kNoMemory;
  if (impl_ != nullptr && impl_->is_forked())
    error = kInChild;
  else if (impl_ != nullptr)
    RunsInMemory([&] { error = impl_->scheduling_error(); });
  return error;
}

bool LocalTrace::Snapshot(const char* path) const {
  if (impl_ != nullptr && !impl_->is_forked())
    return impl_->Snapshot(path);
  errno = EINVAL;
  return false;
}

TraceStats LocalTrace::stats() const {
  TraceStats stats;
  if (impl_ != nullptr && !impl_->is_forked())
    RunsInMemory([&] { stats = impl_->stats(); });
  return stats;
}

PROTOZERO_ABI_END
}  // namespace protozero
