// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/otlp_sdk.h"

#include <string.h>

#include <random>

#include "google/protobuf/arena.h"

namespace protozero::bench::sdk {

namespace pb = opentelemetry::proto;

namespace {

template <size_t kBytes>
void MakeId(otlp::RandomId<kBytes>* id) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  for (size_t at = 0; at < kBytes; at += 8) {
    const uint64_t word = random();
    memcpy(id->bytes + at, &word, 8);
  }
}

uint64_t Nanoseconds(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(time.count());
}

}  // namespace

void Recordable::SetAttribute(std::string_view key,
                              const otlp::AttributeValue& value) {
  pb::KeyValue* const attribute = message.add_attributes();
  attribute->set_key(key.data(), key.size());
  pb::AnyValue* const any = attribute->mutable_value();
  switch (value.type()) {
    case otlp::AttributeValue::Type::kBool:
      return any->set_bool_value(value.int_value() != 0);
    case otlp::AttributeValue::Type::kDouble:
      return any->set_double_value(value.double_value());
    case otlp::AttributeValue::Type::kString:
      return any->set_string_value(value.text().data(), value.size());
    default:
      return any->set_int_value(value.int_value());
  }
}

Span::Span(Processor* processor,
           std::string_view name,
           otlp::SpanKind kind,
           const otlp::SpanContext& parent)
    : state_(std::make_shared<State>()) {
  State& state = *state_;
  state.processor = processor;
  state.recordable = std::make_unique<Recordable>();
  state.context.flags = otlp::SpanContext::kSampled;
  MakeId(&state.context.span_id);
  pb::Span& message = state.recordable->message;
  if (parent.IsValid()) {
    state.context.trace_id = parent.trace_id;
    message.set_parent_span_id(parent.span_id.bytes, 8);
  } else {
    MakeId(&state.context.trace_id);
  }
  message.set_name(name.data(), name.size());
  message.set_trace_id(state.context.trace_id.bytes, 16);
  message.set_span_id(state.context.span_id.bytes, 8);
  message.set_flags(state.context.flags);
  message.set_kind(static_cast<pb::Span::SpanKind>(kind));
  message.set_start_time_unix_nano(
      Nanoseconds(std::chrono::system_clock::now().time_since_epoch()));
  state.start = std::chrono::steady_clock::now();
}

Span& Span::SetAttribute(std::string_view key,
                         const otlp::AttributeValue& value) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->recordable != nullptr)
    state_->recordable->SetAttribute(key, value);
  return *this;
}

void Span::SetStatus(otlp::StatusCode code, std::string_view description) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->recordable == nullptr)
    return;
  pb::Status* const status = state_->recordable->message.mutable_status();
  status->set_code(static_cast<pb::Status::StatusCode>(code));
  status->set_message(description.data(), description.size());
}

void Span::End() {
  if (state_ == nullptr)  // It was moved from.
    return;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->recordable == nullptr)
    return;
  pb::Span& message = state_->recordable->message;
  message.set_end_time_unix_nano(
      message.start_time_unix_nano() +
      Nanoseconds(std::chrono::steady_clock::now() - state_->start));
  state_->processor->OnEnd(std::move(state_->recordable));
}

std::string SerializeSpans(
    const std::vector<std::unique_ptr<Recordable>>& spans,
    bool uses_arena) {
  google::protobuf::Arena arena;
  std::unique_ptr<pb::ExportTraceServiceRequest> owned;
  pb::ExportTraceServiceRequest* request;
  if (uses_arena) {
    request =
        google::protobuf::Arena::CreateMessage<pb::ExportTraceServiceRequest>(
            &arena);
  } else {
    owned = std::make_unique<pb::ExportTraceServiceRequest>();
    request = owned.get();
  }
  pb::ResourceSpans* const resource = request->add_resource_spans();
  pb::KeyValue* const name = resource->mutable_resource()->add_attributes();
  name->set_key("service.name");
  name->mutable_value()->set_string_value("shop");
  pb::ScopeSpans* const scope = resource->add_scope_spans();
  scope->mutable_scope()->set_name("shop.http");
  for (const auto& span : spans) {
    // This copies if the request is on an arena.
    *scope->add_spans() = std::move(span->message);
  }
  return request->SerializeAsString();
}

void BatchProcessor::OnEnd(std::unique_ptr<Recordable> recordable) {
  bool is_batch;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++written_;
    if (queue_.size() == kQueueSize) {
      ++dropped_;
      return;
    }
    queue_.push_back(std::move(recordable));
    is_batch = queue_.size() == kBatchSize;
  }
  if (is_batch)
    changed_.notify_one();
}

void BatchProcessor::Shutdown() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

void BatchProcessor::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, kDelay, [this] {
      return is_ending_ || queue_.size() >= kBatchSize;
    });
    if (is_ending_ && queue_.empty())
      return;
    std::vector<std::unique_ptr<Recordable>> batch;
    while (!queue_.empty() && batch.size() < kBatchSize) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    lock.unlock();
    if (!batch.empty())
      Export(batch);
    batch.clear();  // Not while the queue is locked.
    lock.lock();
  }
}

void BatchProcessor::Export(
    const std::vector<std::unique_ptr<Recordable>>& spans) {
  const std::string bytes = SerializeSpans(spans, true);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  exported_ += sink_
                   ->Export({otlp::Signal::kSpans,
                             reinterpret_cast<const uint8_t*>(bytes.data()),
                             bytes.size(), static_cast<uint32_t>(spans.size()),
                             Nanoseconds(deadline.time_since_epoch())})
                   .exported;
}

}  // namespace protozero::bench::sdk
