// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_SCATTERED_STREAM_NULL_DELEGATE_H_
#define INCLUDE_PROTOZERO_SCATTERED_STREAM_NULL_DELEGATE_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>

#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A delegate that throws everything away: it hands out the same chunk again and
// again. It is for writers whose output is not needed. Allocates in its
// constructor only.
class PROTOZERO_EXPORT ScatteredStreamWriterNullDelegate
    : public ScatteredStreamWriter::Delegate {
 public:
  // REQUIRES: chunk_size >= kPatchSize.
  PROTOZERO_COLD explicit ScatteredStreamWriterNullDelegate(size_t chunk_size);
  PROTOZERO_COLD ~ScatteredStreamWriterNullDelegate() override;

  PROTOZERO_COLD ContiguousMemoryRange GetNewBuffer() override;
  // Returns null: the chunk is overwritten as soon as it is left, so its sizes
  // are not needed.
  PROTOZERO_COLD uint8_t* AnnotatePatch(uint8_t* patch_addr) override;

 private:
  const size_t chunk_size_;
  const std::unique_ptr<uint8_t[]> chunk_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_SCATTERED_STREAM_NULL_DELEGATE_H_
