// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_PATCH_LIST_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_PATCH_LIST_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>

#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A place for the size of a nested message whose writer went on to another
// chunk before the message was complete.
struct Patch {
  // The encoded size, or zeros until it is known. A size has four bytes, and
  // the first is never zero.
  uint8_t size_field[SharedMemoryABI::kPatchSize];
  ChunkID chunk_id;
  // The place, counted from the first byte of the chunk's payload.
  uint16_t offset;
  WriterID writer_id;
  BufferID target_buffer;
  // True if the writer has given up the chunk. Then this patch is not applied.
  bool is_void;
  // True while it is in a PatchList or on its way to the service. The last user
  // clears it.
  std::atomic<bool> is_in_use{false};
  Patch* next;

  bool is_ready() const { return size_field[0] != 0; }
  void Free() { is_in_use.store(false, std::memory_order_release); }
};

// The patches of one writer. Their fixed number limits how many messages may be
// open where a packet goes on in another chunk. The writer's thread takes
// patches; any thread returns them, with Patch::Free().
class PatchPool {
 public:
  // The number of patches. Protobuf's own parsers accept fewer levels.
  static constexpr size_t kNumPatches = 128;
  static_assert(kNumPatches <= SharedMemoryABI::kMaxPatchesPerChunk,
                "all patches of a chunk go out together");

  // Returns null if all are in use.
  Patch* TryAllocate() {
    for (size_t i = 0; i < kNumPatches; ++i) {
      Patch* const patch = &patches_[next_];
      next_ = (next_ + 1) % kNumPatches;
      if (patch->is_in_use.load(std::memory_order_acquire))
        continue;
      patch->is_in_use.store(true, std::memory_order_relaxed);
      memset(patch->size_field, 0, sizeof(patch->size_field));
      patch->is_void = false;
      return patch;
    }
    return nullptr;
  }

 private:
  size_t next_ = 0;
  Patch patches_[kNumPatches];
};

// The patches of the packet that is being written, oldest first, so that
// patches of one chunk are neighbours. One thread at a time.
class PatchList {
 public:
  // One or more patches of one chunk, linked by |next| from |first| to |last|.
  struct Group {
    Patch* first;
    Patch* last;
    bool is_ready;
    bool is_void;
    ChunkID chunk_id() const { return first->chunk_id; }
  };

  bool empty() const { return first_ == nullptr; }

  void PushBack(Patch* patch) {
    patch->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = patch;
    last_ = patch;
  }

  // Returns whether a patch of that chunk is not written yet.
  bool NeedsPatching(ChunkID chunk_id) const {
    for (const Patch* patch = first_; patch != nullptr; patch = patch->next) {
      if (patch->chunk_id == chunk_id && !patch->is_void)
        return true;
    }
    return false;
  }

  // Cancels the patches of that chunk. They stay in the list, because messages
  // may still write their sizes to them.
  void MakeVoid(ChunkID chunk_id) {
    for (Patch* patch = first_; patch != nullptr; patch = patch->next)
      patch->is_void = patch->is_void || patch->chunk_id == chunk_id;
  }

  // Calls |take|(group) with the patches of each chunk, oldest first. If it
  // returns true, the group leaves the list and belongs to |take|.
  template <typename Take>
  void TakeGroups(const Take& take) {
    Patch* before = nullptr;
    for (Patch* first = first_; first != nullptr;) {
      Group group{first, first, first->is_ready(), first->is_void};
      while (group.last->next != nullptr &&
             group.last->next->chunk_id == first->chunk_id) {
        group.last = group.last->next;
        group.is_ready = group.is_ready && group.last->is_ready();
      }
      Patch* const after = group.last->next;
      if (take(group)) {
        (before != nullptr ? before->next : first_) = after;
        if (after == nullptr)
          last_ = before;
      } else {
        before = group.last;
      }
      first = after;
    }
  }

 private:
  Patch* first_ = nullptr;
  Patch* last_ = nullptr;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_PATCH_LIST_H_
