// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_GRPC_BYTE_BUFFER_H_
#define EXAMPLES_GRPC_BYTE_BUFFER_H_

#include <memory>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "protozero/const_bytes.h"
#include "protozero/scattered_heap_buffer.h"

// Returns what gRPC sends in the place of a message of libprotobuf, without a
// copy: each slice of the message's memory keeps it alive until gRPC is done
// with that. Finalizes the message. Returns an empty buffer unless the message
// is ok().
//
// Bytes of AppendBorrowedBytes() have to live as long. Keep them and the
// message in one object, and pass a pointer to the message that owns the
// object: std::shared_ptr<protozero::HeapBuffered<T>>(object,
// &object->message).
template <typename T>
grpc::ByteBuffer ToByteBuffer(
    const std::shared_ptr<protozero::HeapBuffered<T>>& message) {
  using Owner = std::shared_ptr<protozero::HeapBuffered<T>>;
  std::vector<grpc::Slice> slices;
  for (const protozero::ContiguousMemoryRange& range : message->GetRanges()) {
    slices.emplace_back(
        range.begin, range.size(),
        [](void* owner) { delete static_cast<Owner*>(owner); },
        new Owner(message));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

// Returns the bytes of what gRPC has received, for a decoder. They are where
// gRPC has them, in |slice|, if they are in one piece; otherwise a copy is
// there.
inline protozero::ConstBytes ToConstBytes(const grpc::ByteBuffer& buffer,
                                          grpc::Slice* slice) {
  if (!buffer.TrySingleSlice(slice).ok() &&
      !buffer.DumpToSingleSlice(slice).ok())
    return {};
  return {slice->begin(), slice->size()};
}

#endif  // EXAMPLES_GRPC_BYTE_BUFFER_H_
