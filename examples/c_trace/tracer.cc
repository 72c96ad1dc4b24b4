// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/c_trace/tracer.h"

#include <memory>
#include <string>

#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/tracing/data_source.h"
#include "protozero/tracing/data_source_writers.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/types.h"

using protozero::BufferExhaustedPolicy;
using protozero::DataSource;
using protozero::DataSourceDescriptor;
using protozero::DataSourceWriters;
using protozero::Message;
using protozero::MessageHandle;
using protozero::Producer;
using protozero::ScatteredStreamWriter;
using protozero::TraceContext;
using protozero::TraceWriter;

struct Tracer {
  explicit Tracer(const char* name)
      : source(std::make_shared<DataSource>(DataSourceDescriptor{name},
                                            BufferExhaustedPolicy::kStall)),
        producer(Options()),
        writers(source) {
    producer.RegisterDataSource(source);
    // This makes sure that running sessions have everything from the start.
    producer.Sync(/*timeout_ms=*/1000);
  }

  static Producer::Options Options() {
    Producer::Options options;
    options.name = "c_trace";
    return options;
  }

  const std::shared_ptr<DataSource> source;
  Producer producer;
  DataSourceWriters writers;
};

namespace {

// The functions that give the chunks of the TraceWriter's stream to C.

pbz_chunk RestOfChunk(ScatteredStreamWriter* stream) {
  return {stream->write_ptr(), stream->cur_range().end};
}

pbz_chunk NextChunk(void* context, size_t used) {
  auto* const stream = static_cast<ScatteredStreamWriter*>(context);
  if (used != 0)
    stream->set_write_ptr(stream->write_ptr() + used);
  stream->Extend();
  return stream->ok() ? RestOfChunk(stream) : pbz_chunk{nullptr, nullptr};
}

uint8_t* AnnotatePatch(void* context, uint8_t* patch) {
  return static_cast<ScatteredStreamWriter*>(context)->AnnotatePatch(patch);
}

// Returns whether all of the packet was written, or at least counted.
bool WritePacket(TraceWriter* writer,
                 void (*write)(pbz_message* packet, void* context),
                 void* context) {
  // The outer handle ends the packet. The inner one gives up the message, so
  // that the stream can be used.
  const MessageHandle<Message> packet = writer->NewTracePacket<Message>();
  ScatteredStreamWriter* const stream =
      MessageHandle<Message>(packet.get()).TakeStreamWriter();
  const pbz_delegate delegate = {NextChunk, AnnotatePatch, stream};
  const pbz_chunk chunk = RestOfChunk(stream);
  pbz_writer c_writer;
  pbz_writer_init_buffer(&c_writer, chunk.begin,
                         static_cast<size_t>(chunk.end - chunk.begin));
  c_writer.delegate = &delegate;
  pbz_message message;
  pbz_begin(&message, &c_writer);
  write(&message, context);
  pbz_end(&message);
  if (pbz_writer_status(&c_writer) != PBZ_OK)
    return false;
  stream->set_write_ptr(c_writer.pos);
  return true;
}

}  // namespace

Tracer* tracer_create(const char* data_source) {
  return new Tracer(data_source);
}

void tracer_destroy(Tracer* tracer) {
  delete tracer;
}

unsigned tracer_trace(Tracer* tracer,
                      void (*write)(pbz_message* packet, void* context),
                      void* context) {
  unsigned sessions = 0;
  tracer->writers.Trace([&](TraceContext& trace) {
    const uint64_t lost = trace.writer().packets_lost();
    const bool is_written = WritePacket(&trace.writer(), write, context);
    sessions += is_written && trace.writer().packets_lost() == lost ? 1 : 0;
  });
  return sessions;
}

uint64_t tracer_packets_lost(const Tracer* tracer) {
  return tracer->writers.packets_lost();
}
