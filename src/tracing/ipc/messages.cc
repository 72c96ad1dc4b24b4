// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/messages.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <limits>

#include "protozero/decode_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace pb = tracing::pbzero;

namespace {

// Returns an id, which has 32 bits on the wire. A larger id becomes 0, which is
// none: if it was cut off, it could become another one's id.
template <typename T>
T NarrowID(uint32_t id) {
  return id <= std::numeric_limits<T>::max() ? static_cast<T>(id) : T{0};
}

// An offset that is not valid, for a patch whose size is not valid.
constexpr uint32_t kInvalidOffset = UINT32_MAX;

}  // namespace

void WriteDataSourceDescriptor(const DataSourceDescriptor& descriptor,
                               pb::DataSourceDescriptor* message) {
  // Raw fields come first, so that fields that are set by name win.
  message->AppendRawProtoBytes(descriptor.raw_fields.data(),
                               descriptor.raw_fields.size());
  message->set_name(descriptor.name);
  if (descriptor.will_notify_on_stop)
    message->set_will_notify_on_stop(true);
  if (descriptor.will_notify_on_start)
    message->set_will_notify_on_start(true);
  if (descriptor.handles_incremental_state_clear)
    message->set_handles_incremental_state_clear(true);
  if (descriptor.id != 0)
    message->set_id(descriptor.id);
  if (descriptor.no_flush)
    message->set_no_flush(true);
}

bool ReadDataSourceDescriptor(ConstBytes message,
                              DataSourceDescriptor* descriptor) {
  const pb::DataSourceDescriptor::Decoder decoder(message);
  descriptor->name = decoder.name().ToStdString();
  descriptor->will_notify_on_stop = decoder.will_notify_on_stop();
  descriptor->will_notify_on_start = decoder.will_notify_on_start();
  descriptor->handles_incremental_state_clear =
      decoder.handles_incremental_state_clear();
  descriptor->id = decoder.id();
  descriptor->no_flush = decoder.no_flush();
  descriptor->raw_fields.clear();
  for (const Field& field : decoder.unknown_fields())
    field.SerializeAndAppendTo(&descriptor->raw_fields);
  return decoder.status() == DecodeStatus::kOk;
}

void WriteDataSourceConfig(const DataSourceConfig& config,
                           pb::DataSourceConfig* message) {
  // Raw fields come first, so that fields that are set by name win.
  message->AppendRawProtoBytes(config.raw_fields.data(),
                               config.raw_fields.size());
  message->set_name(config.name);
  message->set_target_buffer(config.target_buffer);
  message->set_trace_duration_ms(config.trace_duration_ms);
  // Some producers rely on this id.
  message->set_tracing_session_id(config.tracing_session_id);
  message->set_stop_timeout_ms(config.stop_timeout_ms);
  message->set_buffer_exhausted_policy(
      config.buffer_exhausted_policy == BufferExhaustedPolicy::kStall
          ? pb::DataSourceConfig::BUFFER_EXHAUSTED_STALL_THEN_DROP
          : pb::DataSourceConfig::BUFFER_EXHAUSTED_DROP);
  if (config.ring_bytes != 0)
    message->set_ring_bytes(config.ring_bytes);
}

bool ReadDataSourceConfig(ConstBytes message, DataSourceConfig* config) {
  const pb::DataSourceConfig::Decoder decoder(message);
  config->name = decoder.name().ToStdString();
  config->target_buffer = NarrowID<BufferID>(decoder.target_buffer());
  config->trace_duration_ms = decoder.trace_duration_ms();
  config->tracing_session_id = decoder.tracing_session_id();
  config->stop_timeout_ms = decoder.stop_timeout_ms();
  const auto policy = decoder.buffer_exhausted_policy();
  config->buffer_exhausted_policy =
      policy == pb::DataSourceConfig::BUFFER_EXHAUSTED_STALL_THEN_ABORT ||
              policy == pb::DataSourceConfig::BUFFER_EXHAUSTED_STALL_THEN_DROP
          ? BufferExhaustedPolicy::kStall
          : BufferExhaustedPolicy::kDrop;
  config->ring_bytes = decoder.ring_bytes();
  config->raw_fields.clear();
  for (const Field& field : decoder.unknown_fields())
    field.SerializeAndAppendTo(&config->raw_fields);
  return decoder.status() == DecodeStatus::kOk;
}

void WriteCommitDataRequest(const CommitDataRequest& request,
                            pb::CommitDataRequest* message) {
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    auto* const chunk = message->add_chunks_to_move();
    chunk->set_page(move.page);
    chunk->set_chunk(move.chunk);
    chunk->set_target_buffer(move.target_buffer);
    if (move.data != nullptr)
      chunk->set_data(move.data, move.data_size);
    if (move.is_incomplete)
      chunk->set_chunk_incomplete(true);
  }
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    const CommitDataRequest::ChunkToPatch& patches = request.chunks_to_patch[i];
    auto* const chunk = message->add_chunks_to_patch();
    chunk->set_target_buffer(patches.target_buffer);
    chunk->set_trace_writer_id(patches.writer_id);
    chunk->set_chunk_id(patches.chunk_id);
    for (size_t j = 0; j < patches.num_patches; ++j) {
      auto* const patch = chunk->add_patches();
      patch->set_offset(patches.patches[j].offset);
      patch->set_data(patches.patches[j].data, sizeof(patches.patches[j].data));
    }
    if (patches.has_more_patches)
      chunk->set_has_more_patches(true);
  }
  if (request.flush_request_id != 0)
    message->set_flush_request_id(request.flush_request_id);
  for (size_t i = 0; i < request.num_losses; ++i) {
    const CommitDataRequest::WriterLosses& losses = request.losses[i];
    auto* const report = message->add_writer_losses();
    report->set_trace_writer_id(losses.writer_id);
    report->set_target_buffer(losses.target_buffer);
    report->set_reason(static_cast<uint32_t>(losses.reason));
    report->set_packets(losses.packets);
    report->set_begun(losses.begun);
    report->set_bytes(losses.bytes);
  }
}

bool CommitDataReader::Read(ConstBytes message) {
  chunks_to_move_.clear();
  chunks_to_patch_.clear();
  patches_.clear();
  losses_.clear();
  const pb::CommitDataRequest::Decoder decoder(message);
  bool ok = decoder.status() == DecodeStatus::kOk;
  for (const ConstBytes bytes : decoder.chunks_to_move()) {
    const pb::CommitDataRequest::ChunksToMove::Decoder chunk(bytes);
    ok = ok && chunk.status() == DecodeStatus::kOk;
    CommitDataRequest::ChunkToMove move{};
    move.page = chunk.page();
    move.chunk = chunk.chunk();
    move.target_buffer = NarrowID<BufferID>(chunk.target_buffer());
    if (chunk.has_data()) {
      move.data = chunk.data().data;
      move.data_size = chunk.data().size;
    }
    move.is_incomplete = chunk.chunk_incomplete();
    chunks_to_move_.push_back(move);
  }
  for (const ConstBytes bytes : decoder.chunks_to_patch()) {
    const pb::CommitDataRequest::ChunkToPatch::Decoder chunk(bytes);
    ok = ok && chunk.status() == DecodeStatus::kOk;
    CommitDataRequest::ChunkToPatch to_patch{};
    to_patch.target_buffer = NarrowID<BufferID>(chunk.target_buffer());
    to_patch.writer_id = NarrowID<WriterID>(chunk.trace_writer_id());
    to_patch.chunk_id = chunk.chunk_id();
    to_patch.has_more_patches = chunk.has_more_patches();
    for (const ConstBytes patch_bytes : chunk.patches()) {
      const pb::CommitDataRequest::ChunkToPatch::Patch::Decoder patch(
          patch_bytes);
      ok = ok && patch.status() == DecodeStatus::kOk;
      CommitDataRequest::Patch to_apply{kInvalidOffset, {}};
      if (patch.data().size == sizeof(to_apply.data)) {
        to_apply.offset = patch.offset();
        memcpy(to_apply.data, patch.data().data, sizeof(to_apply.data));
      }
      patches_.push_back(to_apply);
      ++to_patch.num_patches;
    }
    chunks_to_patch_.push_back(to_patch);
  }
  for (const ConstBytes bytes : decoder.writer_losses()) {
    const pb::CommitDataRequest::WriterLosses::Decoder report(bytes);
    ok = ok && report.status() == DecodeStatus::kOk;
    CommitDataRequest::WriterLosses losses{};
    losses.target_buffer = NarrowID<BufferID>(report.target_buffer());
    losses.writer_id = NarrowID<WriterID>(report.trace_writer_id());
    losses.reason = report.reason() < kNumWriterLossReasons
                        ? static_cast<LossReason>(report.reason())
                        : LossReason::kUnknown;
    losses.packets = report.packets();
    losses.begun = report.begun();
    losses.bytes = report.bytes();
    losses_.push_back(losses);
  }
  // The vector has moved them while it grew, so pointers are set only now.
  size_t num_patches = 0;
  for (CommitDataRequest::ChunkToPatch& chunk : chunks_to_patch_) {
    chunk.patches = patches_.data() + num_patches;
    num_patches += chunk.num_patches;
  }
  request_ = {};
  request_.chunks_to_move = chunks_to_move_.data();
  request_.num_chunks_to_move = chunks_to_move_.size();
  request_.chunks_to_patch = chunks_to_patch_.data();
  request_.num_chunks_to_patch = chunks_to_patch_.size();
  request_.flush_request_id = decoder.flush_request_id();
  request_.losses = losses_.data();
  request_.num_losses = losses_.size();
  return ok;
}

PROTOZERO_ABI_END
}  // namespace protozero
