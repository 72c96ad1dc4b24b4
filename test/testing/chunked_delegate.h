// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_CHUNKED_DELEGATE_H_
#define TEST_TESTING_CHUNKED_DELEGATE_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protozero/contiguous_memory_range.h"
#include "protozero/scattered_stream_writer.h"

namespace protozero::test {

// A delegate as a user of the library might write it. It checks that the
// library keeps its side of the contract: each chunk lies between guard bytes,
// and a chunk that was left is changed only where the library asked for a
// patch.
class ChunkedDelegate : public ScatteredStreamWriter::Delegate {
 public:
  // The answer of AnnotatePatch().
  enum class Patches {
    kInPlace,   // The chunk stays writable.
    kRedirect,  // The chunk is given away; sizes go to a list of patches.
    kUnwanted,  // The answer is null.
  };

  // The byte that fills chunks before they are handed out.
  static constexpr uint8_t kUnwritten = 0xee;

  // Hands out chunks of |chunk_sizes|. The last size is repeated. There are
  // none after |max_chunks|.
  explicit ChunkedDelegate(std::vector<size_t> chunk_sizes,
                           Patches patches = Patches::kInPlace,
                           size_t max_chunks = SIZE_MAX);
  explicit ChunkedDelegate(size_t chunk_size)
      : ChunkedDelegate(std::vector<size_t>{chunk_size}) {}
  ~ChunkedDelegate() override;

  // REQUIRES: called before the first write.
  void set_writer(const ScatteredStreamWriter* writer) { writer_ = writer; }

  // Sets a function that GetNewBuffer() calls before it does anything.
  void set_on_new_buffer(std::function<void()> callback) {
    on_new_buffer_ = std::move(callback);
  }

  ContiguousMemoryRange GetNewBuffer() override;
  uint8_t* AnnotatePatch(uint8_t* patch_addr) override;

  size_t num_chunks() const { return chunks_.size(); }
  // Returns the current chunk from its first byte to its last, written or not.
  std::string CurrentChunk() const;
  // Returns how often AnnotatePatch() was called.
  size_t num_patches() const { return num_patches_; }
  size_t num_refusals() const { return num_refusals_; }

  // Returns the output: each chunk up to the place where it was left, with the
  // patches of kRedirect applied.
  std::string Bytes() const;
  // Returns the same, each chunk on its own.
  std::vector<std::string> ChunkBytes() const;

  // Returns the library's mistakes, or an empty string.
  std::string Complaints() const;

 private:
  struct Chunk {
    std::unique_ptr<uint8_t[]> memory;  // The chunk between two guards.
    size_t size;
    size_t used;
    // Its content when it was left.
    std::string left;
    bool was_left = false;

    uint8_t* begin() const;
    uint8_t* end() const { return begin() + size; }
  };
  struct Patch {
    uint8_t* address;
    std::unique_ptr<uint8_t[]> size_field;
  };

  size_t UsedBytes(const Chunk& chunk) const;
  void LeaveCurrentChunk();

  const std::vector<size_t> chunk_sizes_;
  const Patches patches_policy_;
  const size_t max_chunks_;
  const ScatteredStreamWriter* writer_ = nullptr;
  std::function<void()> on_new_buffer_;
  std::vector<Chunk> chunks_;
  std::vector<Patch> patches_;
  size_t num_patches_ = 0;
  size_t num_refusals_ = 0;
  std::string complaints_;
};

}  // namespace protozero::test

#endif  // TEST_TESTING_CHUNKED_DELEGATE_H_
