// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_WRITER_PATCH_IN_PLACE_H_
#define SRC_TRACING_WRITER_PATCH_IN_PLACE_H_

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Stores |patches| in their chunk, if that is in |state|, and has it say that
// it needs none any more, unless more will come. Looks at all pages. Returns
// the chunk, or an invalid one if there is none that needs patching.
SharedMemoryABI::Chunk PatchInPlace(
    const SharedMemoryABI& abi,
    SharedMemoryABI::ChunkState state,
    const CommitDataRequest::ChunkToPatch& patches);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_WRITER_PATCH_IN_PLACE_H_
