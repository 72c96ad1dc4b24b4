// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Encoders that use this library's messages again and call their setters.

#ifndef TEST_BENCHMARKS_PROTOZERO_ENCODERS_H_
#define TEST_BENCHMARKS_PROTOZERO_ENCODERS_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/config.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/benchmarks/encoder.h"
#include "test/benchmarks/perfetto_trace.pbzero.h"
#include "test/protos/benchmark_messages.pbzero.h"

namespace protozero {
namespace bench {

// The types with inlined setters, or those with calls: see BUILD.gn.
#if PROTOZERO_INLINE_SETTERS
namespace pbzero = ::protozero::benchmark::pbzero_in_place;
namespace trace = ::perfetto::protos::pbzero_in_place;
#else
namespace pbzero = ::protozero::benchmark::pbzero;
namespace trace = ::perfetto::protos::pbzero;
#endif

struct Api {
  using Blob = pbzero::Blob;
  using Children = pbzero::Children;
  using EveryField = pbzero::EveryField;
  using Packed = pbzero::Packed;
  using Records = pbzero::Records;
  using Reply = pbzero::Reply;
  using ThirtyFields = pbzero::ThirtyFields;
  using TracePacket = trace::TracePacket;
  using Varints = pbzero::Varints;
};

// A stream that continues in the next event's buffer.
class MovingStream {
 public:
  MovingStream() : delegate_(nullptr, 0), writer_(&delegate_) {}

  BENCH_INLINE ScatteredStreamWriter* writer() { return &writer_; }

  // Returns the chunk in which a message of at most |capacity| bytes at |begin|
  // starts.
  BENCH_INLINE ContiguousMemoryRange ChunkFor(uint8_t* begin, size_t capacity) {
    return {begin, begin + capacity};
  }

 private:
  StaticBufferDelegate delegate_;  // never asked: the message fits
  ScatteredStreamWriter writer_;
};

// One message for all events, as a thread that traces keeps it: the stream
// moves on to the next buffer, and the message is reset.
// |inline_setters|: makes the types differ, because a program has both kinds.
template <typename Workload,
          typename Stream = MovingStream,
          bool inline_setters = PROTOZERO_INLINE_SETTERS>
class ReusedEncoder final
    : public EncoderWithLoop<ReusedEncoder<Workload, Stream, inline_setters>,
                             typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    message_.Reset(stream_.writer(), stream_.ChunkFor(begin, capacity));
    Workload::Fill(&message_, input);
    return message_.Finalize();
  }

 private:
  Stream stream_;
  RootMessage<typename Workload::template Message<Api>> message_;
};

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_PROTOZERO_ENCODERS_H_
