// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

uint64_t TraceBuffer::OldestTime() const {
  return chunks_.empty() || stats_.chunks_overwritten == 0
             ? 0
             : chunks_.front().time_ms;
}

void TraceBuffer::ForgetBefore(uint64_t time_ms) {
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const auto sequence = it++;
    ForgetBefore(time_ms, &*sequence);
    if (!EraseIfDone(sequence))
      Charge(&*sequence, sequence->charge());
  }
}

void TraceBuffer::ForgetBefore(uint64_t time_ms, Sequence* sequence) {
  ChunkMap& chunks = sequence->chunks;
  auto first_to_keep = std::find_if(
      chunks.begin(), chunks.end(),
      [&](const auto& entry) { return entry.second->time_ms >= time_ms; });
  if (first_to_keep != chunks.end()) {
    // Its packets refer to what the writer said when it last started over.
    const auto beginning = std::find_if(
        std::make_reverse_iterator(first_to_keep), chunks.rend(),
        [](const auto& entry) { return BeginsAnew(*entry.second); });
    if (beginning != chunks.rend())
      first_to_keep = std::prev(beginning.base());
  }
  while (chunks.begin() != first_to_keep)
    DropChunk(chunks.begin());
}

bool TraceBuffer::BeginsAnew(const Chunk& chunk) {
  using trace::TracePacket;
  size_t offset = 0;
  for (uint16_t i = 0; i < chunk.num_packets; ++i) {
    ConstBytes fragment;
    if (ReadFragment(chunk.payload, &offset, &fragment) !=
        FragmentKind::kPacket) {
      return false;
    }
    if (i == 0 && chunk.continues_from_previous)
      continue;
    const uint32_t flags =
        ProtoDecoder(fragment)
            .FindField(TracePacket::kSequenceFlagsFieldNumber)
            .as_uint32();
    if ((flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0)
      return true;
  }
  return false;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
