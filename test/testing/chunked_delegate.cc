// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/chunked_delegate.h"

#include <string.h>

#include <algorithm>
#include <utility>

namespace protozero::test {

namespace {

constexpr size_t kGuardSize = 32;
constexpr char kGuard = '\xa5';

std::string ToString(const uint8_t* data, size_t size) {
  return std::string(reinterpret_cast<const char*>(data), size);
}

bool IsGuard(const uint8_t* data) {
  static const std::string& guard = *new std::string(kGuardSize, kGuard);
  return memcmp(data, guard.data(), kGuardSize) == 0;
}

}  // namespace

ChunkedDelegate::ChunkedDelegate(std::vector<size_t> chunk_sizes,
                                 Patches patches,
                                 size_t max_chunks)
    : chunk_sizes_(std::move(chunk_sizes)),
      patches_policy_(patches),
      max_chunks_(max_chunks) {}

ChunkedDelegate::~ChunkedDelegate() = default;

uint8_t* ChunkedDelegate::Chunk::begin() const {
  return memory.get() + kGuardSize;
}

ContiguousMemoryRange ChunkedDelegate::GetNewBuffer() {
  if (on_new_buffer_)
    on_new_buffer_();
  LeaveCurrentChunk();
  if (chunks_.size() >= max_chunks_) {
    ++num_refusals_;
    return ContiguousMemoryRange{};
  }
  Chunk chunk;
  chunk.size = chunk_sizes_[std::min(chunks_.size(), chunk_sizes_.size() - 1)];
  chunk.used = 0;
  const size_t memory_size = chunk.size + 2 * kGuardSize;
  chunk.memory.reset(new uint8_t[memory_size]);
  memset(chunk.memory.get(), kGuard, memory_size);
  memset(chunk.begin(), kUnwritten, chunk.size);
  const ContiguousMemoryRange range{chunk.begin(), chunk.end()};
  chunks_.push_back(std::move(chunk));
  return range;
}

void ChunkedDelegate::LeaveCurrentChunk() {
  if (chunks_.empty() || chunks_.back().was_left)
    return;
  Chunk& chunk = chunks_.back();
  chunk.used = UsedBytes(chunk);
  chunk.left = ToString(chunk.begin(), chunk.size);
  chunk.was_left = true;
}

size_t ChunkedDelegate::UsedBytes(const Chunk& chunk) const {
  if (chunk.was_left)
    return chunk.used;
  return static_cast<size_t>(writer_->write_ptr() - chunk.begin());
}

uint8_t* ChunkedDelegate::AnnotatePatch(uint8_t* patch_addr) {
  ++num_patches_;
  const Chunk* chunk = chunks_.empty() ? nullptr : &chunks_.back();
  const std::less_equal<const uint8_t*> less_equal;
  if (!chunk || !less_equal(chunk->begin(), patch_addr) ||
      !less_equal(patch_addr + kPatchSize, chunk->end())) {
    complaints_ += "A patch is not in the chunk that is being left. ";
    return patch_addr;
  }
  const uint8_t zeros[kPatchSize] = {};
  if (memcmp(patch_addr, zeros, kPatchSize) != 0)
    complaints_ += "The size field of an open message is not zero. ";
  switch (patches_policy_) {
    case Patches::kInPlace:
      return patch_addr;
    case Patches::kRedirect:
      patches_.push_back(
          {patch_addr, std::unique_ptr<uint8_t[]>(new uint8_t[kPatchSize]())});
      return patches_.back().size_field.get();
    case Patches::kUnwanted:
      return nullptr;
  }
  return nullptr;
}

std::string ChunkedDelegate::CurrentChunk() const {
  if (chunks_.empty())
    return std::string();
  return ToString(chunks_.back().begin(), chunks_.back().size);
}

std::vector<std::string> ChunkedDelegate::ChunkBytes() const {
  std::vector<std::string> result;
  for (const Chunk& chunk : chunks_) {
    std::string bytes = ToString(chunk.begin(), UsedBytes(chunk));
    for (const Patch& patch : patches_) {
      const std::less<const uint8_t*> less;
      if (less(patch.address, chunk.begin()) ||
          !less(patch.address, chunk.end())) {
        continue;
      }
      memcpy(&bytes[static_cast<size_t>(patch.address - chunk.begin())],
             patch.size_field.get(), kPatchSize);
    }
    result.push_back(std::move(bytes));
  }
  return result;
}

std::string ChunkedDelegate::Bytes() const {
  std::string bytes;
  for (const std::string& chunk : ChunkBytes())
    bytes += chunk;
  return bytes;
}

std::string ChunkedDelegate::Complaints() const {
  std::string complaints = complaints_;
  for (const Chunk& chunk : chunks_) {
    if (!IsGuard(chunk.memory.get()))
      complaints += "Bytes before a chunk were written. ";
    if (!IsGuard(chunk.end()))
      complaints += "Bytes after a chunk were written. ";
    if (chunk.was_left && patches_policy_ != Patches::kInPlace &&
        memcmp(chunk.begin(), chunk.left.data(), chunk.size) != 0) {
      complaints += "A chunk was written after it was left. ";
    }
  }
  for (const Patch& patch : patches_) {
    if (writer_->ok() && patch.size_field[0] == 0)
      complaints += "A patch was not filled in. ";
  }
  return complaints;
}

}  // namespace protozero::test
