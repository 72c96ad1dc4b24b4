// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_DELIMITED_WRITER_H_
#define INCLUDE_PROTOZERO_DELIMITED_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include <utility>
#include <vector>

#include "protozero/contiguous_memory_range.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_heap_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A stream of messages, each after its size, a varint: the format that
// writeDelimitedTo() of libprotobuf for Java and its counterparts in other
// languages write, and `pbz --delimited` reads. It copies nothing: the sink
// gets the pieces of a message where they lie, the size among them.
//
//   protozero::DelimitedWriter writer(
//       [file](const protozero::ContiguousMemoryRange* pieces, size_t count) {
//         for (size_t i = 0; i < count; ++i) {
//           if (fwrite(pieces[i].begin, 1, pieces[i].size(), file) !=
//               pieces[i].size())
//             return false;
//         }
//         return true;
//       });
//   protozero::HeapBuffered<MyEvent> event;
//   event->set_timestamp(now);
//   writer.Write(&event);
//
// One thread at a time may use it. Allocates until a message with as many
// pieces as ever has been written, and nothing from then on.
template <typename Sink>
class DelimitedWriter {
 public:
  // A message that is larger is refused, because other libraries do not read
  // it.
  static constexpr size_t kMaxMessageSize = 0x7fffffff;

  // |sink| takes (const ContiguousMemoryRange* pieces, size_t count): all bytes
  // of one message, with its size in front. It returns false if it cannot take
  // all of them, and is not called again.
  explicit DelimitedWriter(Sink sink) : sink_(std::move(sink)) {}

  // Finalizes the message and writes it. Returns false if the message is not
  // ok() or is too large, in which case nothing is written and others may
  // follow, or if !ok().
  template <typename T>
  bool Write(HeapBuffered<T>* message) {
    pieces_.resize(1);
    size_t size = 0;
    for (const ScatteredHeapBuffer::Slice& slice : message->GetSlices()) {
      pieces_.push_back(slice.GetUsedRange());
      size += slice.GetUsedRange().size();
    }
    return message->ok() && WritePieces(size);
  }
  // Writes a finished message. REQUIRES: |bytes| are |size| bytes.
  bool Write(const void* bytes, size_t size) {
    // The sink only reads.
    auto* const begin = static_cast<uint8_t*>(const_cast<void*>(bytes));
    pieces_.resize(1);
    if (size != 0)
      pieces_.push_back({begin, begin + size});
    return WritePieces(size);
  }

  // Returns whether the sink has taken all so far. A stream that has failed
  // takes no more, because a part of a message may be in it.
  bool ok() const { return is_ok_; }

 private:
  // Has the sink take |size| bytes, which begin with the second piece.
  bool WritePieces(size_t size) {
    if (!is_ok_ || size > kMaxMessageSize)
      return false;
    uint8_t header[proto_utils::kMaxVarIntEncodedSize];
    pieces_[0] = {header, proto_utils::WriteVarInt(size, header)};
    is_ok_ = sink_(static_cast<const ContiguousMemoryRange*>(pieces_.data()),
                   pieces_.size());
    return is_ok_;
  }

  Sink sink_;
  bool is_ok_ = true;
  std::vector<ContiguousMemoryRange> pieces_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_DELIMITED_WRITER_H_
