// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_null_delegate.h"

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

ScatteredStreamWriterNullDelegate::ScatteredStreamWriterNullDelegate(
    size_t chunk_size)
    : chunk_size_(chunk_size), chunk_(new uint8_t[chunk_size]) {
  PROTOZERO_DCHECK(chunk_size >= kPatchSize,
                   "a chunk has to hold the size of a nested message");
}

ScatteredStreamWriterNullDelegate::~ScatteredStreamWriterNullDelegate() =
    default;

ContiguousMemoryRange ScatteredStreamWriterNullDelegate::GetNewBuffer() {
  return {chunk_.get(), chunk_.get() + chunk_size_};
}

uint8_t* ScatteredStreamWriterNullDelegate::AnnotatePatch(uint8_t*) {
  return nullptr;
}

PROTOZERO_ABI_END
}  // namespace protozero
