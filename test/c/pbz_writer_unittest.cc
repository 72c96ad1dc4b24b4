// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/c/pbz_writer.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

#include <gtest/gtest.h>

namespace protozero::test {

namespace {

using Kind = Field::Kind;

// A source of chunks of exactly these sizes, so that sanitizers notice each
// write beyond them.
class Chunks {
 public:
  enum class Patches { kNone, kInPlace, kElsewhere, kUnwanted };

  explicit Chunks(std::vector<size_t> sizes,
                  Patches patches = Patches::kNone,
                  size_t max_chunks = SIZE_MAX)
      : sizes_(std::move(sizes)), patches_(patches), max_chunks_(max_chunks) {
    delegate_.next_chunk = [](void* self, size_t used) {
      return static_cast<Chunks*>(self)->Next(used);
    };
    delegate_.annotate_patch = nullptr;
    if (patches != Patches::kNone) {
      delegate_.annotate_patch = [](void* self, uint8_t* patch) {
        return static_cast<Chunks*>(self)->Annotate(patch);
      };
    }
    delegate_.context = this;
    pbz_writer_init(&writer, &delegate_);
  }

  std::string Bytes() {
    std::string bytes;
    for (size_t i = 0; i < memory_.size(); ++i) {
      const size_t used = i + 1 < memory_.size()
                              ? used_[i]
                              : static_cast<size_t>(writer.pos - writer.begin);
      std::string chunk(reinterpret_cast<char*>(memory_[i].get()), used);
      for (const Patch& patch : elsewhere_) {
        if (patch.chunk != i)
          continue;
        EXPECT_EQ(chunk.substr(patch.offset, PBZ_PATCH_SIZE),
                  std::string(PBZ_PATCH_SIZE, '\0'));
        EXPECT_NE(patch.size[0], 0);
        chunk.replace(patch.offset, PBZ_PATCH_SIZE,
                      reinterpret_cast<const char*>(patch.size.get()),
                      PBZ_PATCH_SIZE);
      }
      bytes += chunk;
    }
    return bytes;
  }

  pbz_writer writer;
  size_t num_patches = 0;

 private:
  struct Patch {
    size_t chunk;
    size_t offset;
    std::unique_ptr<uint8_t[]> size;
  };

  pbz_chunk Next(size_t used) {
    if (!memory_.empty())
      used_.push_back(used);
    if (memory_.size() == max_chunks_)
      return {nullptr, nullptr};
    const size_t size = sizes_[std::min(memory_.size(), sizes_.size() - 1)];
    memory_.push_back(std::make_unique<uint8_t[]>(size));
    memset(memory_.back().get(), 0xee, size);
    return {memory_.back().get(), memory_.back().get() + size};
  }

  uint8_t* Annotate(uint8_t* patch) {
    ++num_patches;
    if (patches_ == Patches::kUnwanted)
      return nullptr;
    if (patches_ == Patches::kInPlace)
      return patch;
    elsewhere_.push_back({memory_.size() - 1,
                          static_cast<size_t>(patch - memory_.back().get()),
                          std::make_unique<uint8_t[]>(PBZ_PATCH_SIZE)});
    return elsewhere_.back().size.get();
  }

  const std::vector<size_t> sizes_;
  const Patches patches_;
  const size_t max_chunks_;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<size_t> used_;
  std::vector<Patch> elsewhere_;
  pbz_delegate delegate_;
};

// Returns the fields that C has functions for.
MessageTree WithoutStream(const MessageTree& tree) {
  MessageTree kept;
  for (Field field : tree) {
    if (field.is_taken_back() || field.kind == Kind::kStream ||
        field.kind == Kind::kReserved || field.kind == Kind::kLook) {
      continue;
    }
    if (!field.is_raw())
      field.fields = WithoutStream(field.fields);
    kept.push_back(field);
  }
  return kept;
}

void WriteC(const MessageTree& tree, pbz_message* message);

void WriteFieldC(const Field& field, pbz_message* message) {
  const uint32_t id = field.id;
  const uint64_t number = field.number;
  const auto number32 = static_cast<uint32_t>(number);
  switch (field.kind) {
    case Kind::kUnsigned:
      return pbz_append_uint64(message, id, number);
    case Kind::kSigned:
      return pbz_append_int64(message, id, static_cast<int64_t>(number));
    case Kind::kUnsigned32:
      return pbz_append_uint32(message, id, number32);
    case Kind::kSigned32:
      return pbz_append_int32(message, id, static_cast<int32_t>(number));
    case Kind::kZigZag32:
      return pbz_append_sint32(message, id, static_cast<int32_t>(number));
    case Kind::kZigZag64:
      return pbz_append_sint64(message, id, static_cast<int64_t>(number));
    case Kind::kTiny:
      return pbz_append_uint32(message, id, number32 & 0x7f);
    case Kind::kFixed32:
      return pbz_append_fixed32(message, id, number32);
    case Kind::kFixed64:
      return pbz_append_fixed64(message, id, number);
    case Kind::kFloat: {
      float value;
      memcpy(&value, &number32, sizeof(value));
      return pbz_append_float(message, id, value);
    }
    case Kind::kDouble: {
      double value;
      memcpy(&value, &number, sizeof(value));
      return pbz_append_double(message, id, value);
    }
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kScattered:
    case Kind::kBorrowed:
      return pbz_append_bytes(message, id, field.bytes.data(),
                              field.bytes.size());
    case Kind::kRaw: {
      const std::string bytes = EncodeTreeCanonically({field});
      return pbz_append_encoded(message, bytes.data(), bytes.size());
    }
    case Kind::kNested:
    case Kind::kNestedAndDone:
    case Kind::kNestedHandle: {
      pbz_message child;
      pbz_begin_nested(&child, message, id);
      WriteC(field.fields, &child);
      pbz_end(&child);
      return;
    }
    case Kind::kGroup:
    case Kind::kGroupAndDone: {
      pbz_message child;
      pbz_begin_group(&child, message, id);
      WriteC(field.fields, &child);
      pbz_end(&child);
      return;
    }
    default:
      FAIL();
  }
}

void WriteC(const MessageTree& tree, pbz_message* message) {
  for (const Field& field : tree)
    WriteFieldC(field, message);
}

std::string BytesOfC(const MessageTree& tree, Chunks* chunks) {
  pbz_message root;
  pbz_begin(&root, &chunks->writer);
  WriteC(tree, &root);
  const uint32_t size = pbz_end(&root);
  EXPECT_EQ(pbz_writer_status(&chunks->writer), PBZ_OK);
  const std::string bytes = chunks->Bytes();
  EXPECT_EQ(bytes.size(), size);
  EXPECT_EQ(bytes.size(), pbz_writer_written(&chunks->writer));
  return bytes;
}

std::string BytesOfCpp(const MessageTree& tree,
                       const std::vector<size_t>& sizes,
                       ChunkedDelegate::Patches patches) {
  ChunkedStream stream(sizes, patches);
  RootMessage<Message> root;
  root.Reset(&stream.writer);
  WriteTree(tree, &root);
  root.Finalize();
  return stream.delegate.Bytes();
}

void ExpectSameBytes(const MessageTree& tree,
                     const std::vector<size_t>& sizes) {
  using Patches = Chunks::Patches;
  const std::string expected =
      BytesOfCpp(tree, sizes, ChunkedDelegate::Patches::kInPlace);
  for (const Patches patches :
       {Patches::kNone, Patches::kInPlace, Patches::kElsewhere}) {
    Chunks chunks(sizes, patches);
    ASSERT_EQ(Hex(BytesOfC(tree, &chunks)), Hex(expected)) << sizes[0];
  }
  Chunks chunks(sizes, Patches::kUnwanted);
  ASSERT_EQ(Hex(BytesOfC(tree, &chunks)),
            Hex(BytesOfCpp(tree, sizes, ChunkedDelegate::Patches::kUnwanted)));
}

TEST(PbzWriterTest, RandomTreesInChunksOfAnySizeAsInCpp) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 30; ++i) {
    const MessageTree tree = WithoutStream(RandomTree(random, 6, 4));
    for (size_t size = PBZ_PATCH_SIZE; size < 40; ++size)
      ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, {size}));
    for (size_t size : {63u, 127u, 130u, 250u, 4096u, 1u << 20})
      ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, {size}));
  }
}

TEST(PbzWriterTest, RandomTreesInChunksOfDifferentSizesAsInCpp) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 400; ++i) {
    const MessageTree tree = WithoutStream(RandomTreeOfSize(
        random, random() % 3000, static_cast<uint32_t>(1 + random() % 6)));
    std::vector<size_t> sizes;
    for (uint64_t j = 0; j < 1 + random() % 20; ++j)
      sizes.push_back(4 + random() % (uint64_t{1} << (2 + random() % 11)));
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, sizes));
  }
}

TEST(PbzWriterTest, SizesThatNeedAnotherByte) {
  for (size_t size : {125u, 126u, 127u, 128u, 129u, 510u, 511u, 512u, 600u}) {
    // The tree has one long child in another.
    const MessageTree tree = {NestedField(
        1, {NestedField(2, {BytesField(3, std::string(size, 'x'))}),
            NestedField(4, {NumberField(Kind::kUnsigned, 1, 150u)})})};
    for (size_t chunk = 4; chunk < 700; chunk += chunk < 40 ? 1 : 7)
      ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, {chunk}));
  }
}

TEST(PbzWriterTest, ManyFieldsOfANarrowMessage) {
  // The sizes pass the limit of narrow messages byte by byte.
  for (size_t count = 230; count < 270; ++count) {
    MessageTree fields(count, NumberField(Kind::kUnsigned, 1, 5u));
    const MessageTree tree = {
        NestedField(1, {NestedField(2, fields), BytesField(3, "ab")})};
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, {4096}));
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(tree, {500}));
  }
}

TEST(PbzWriterTest, WorkedExampleOfTheWireFormat) {
  Chunks chunks({16});
  pbz_message root;
  pbz_message child;
  pbz_begin(&root, &chunks.writer);
  pbz_append_uint32(&root, 1, 1);
  pbz_begin_nested(&child, &root, 2);
  pbz_append_string(&child, 1, "abcdefghijklmnop");
  EXPECT_EQ(pbz_end(&child), 18u);
  EXPECT_EQ(pbz_end(&root), 25u);
  EXPECT_EQ(chunks.Bytes(), std::string("\x08\x01\x12\x92\x80\x80\x00\x0a\x10"
                                        "abcdefghijklmnop",
                                        25));
}

template <typename T, typename Packed, typename Append>
void ExpectSamePackedField(Append append, const std::vector<T>& values) {
  for (size_t chunk : {4u, 7u, 16u, 300u, 100000u}) {
    ChunkedStream stream(chunk);
    RootMessage<Message> root;
    root.Reset(&stream.writer);
    Packed::AppendField(&root, 77, values.data(), values.size());
    root.Finalize();
    Chunks chunks({chunk});
    pbz_message message;
    pbz_begin(&message, &chunks.writer);
    append(&message, 77, values.data(), values.size());
    pbz_end(&message);
    ASSERT_EQ(Hex(chunks.Bytes()), stream.Bytes()) << values.size();
  }
}

TEST(PbzWriterTest, PackedFieldsAsInCpp) {
  std::mt19937_64 random(3);
  for (size_t count :
       {0u, 1u, 2u, 23u, 24u, 25u, 26u, 100u, 245u, 246u, 247u, 248u, 1000u}) {
    std::vector<int32_t> int32;
    std::vector<uint32_t> uint32;
    std::vector<int64_t> int64;
    std::vector<uint64_t> uint64;
    std::vector<float> floats;
    std::vector<double> doubles;
    for (size_t i = 0; i < count; ++i) {
      uint64.push_back(random() >> random() % 64);
      if (count >= 245 && count <= 248)
        uint64.back() %= 128;  // One byte each: they are about a block.
      int64.push_back(static_cast<int64_t>(random() >> random() % 64));
      uint32.push_back(static_cast<uint32_t>(uint64.back()));
      int32.push_back(static_cast<int32_t>(uint64.back()));
      floats.push_back(static_cast<float>(uint64.back()));
      doubles.push_back(static_cast<double>(uint64.back()));
    }
    using Varint = PackedVarInt;
    using ZigZag = PackedSignedVarInt;
    ExpectSamePackedField<int32_t, Varint>(pbz_append_packed_int32, int32);
    ExpectSamePackedField<int64_t, Varint>(pbz_append_packed_int64, int64);
    ExpectSamePackedField<uint32_t, Varint>(pbz_append_packed_uint32, uint32);
    ExpectSamePackedField<uint64_t, Varint>(pbz_append_packed_uint64, uint64);
    ExpectSamePackedField<int32_t, ZigZag>(pbz_append_packed_sint32, int32);
    ExpectSamePackedField<int64_t, ZigZag>(pbz_append_packed_sint64, int64);
    ExpectSamePackedField<uint32_t, PackedFixedSizeInt<uint32_t>>(
        pbz_append_packed_fixed32, uint32);
    ExpectSamePackedField<int32_t, PackedFixedSizeInt<int32_t>>(
        pbz_append_packed_sfixed32, int32);
    ExpectSamePackedField<uint64_t, PackedFixedSizeInt<uint64_t>>(
        pbz_append_packed_fixed64, uint64);
    ExpectSamePackedField<int64_t, PackedFixedSizeInt<int64_t>>(
        pbz_append_packed_sfixed64, int64);
    ExpectSamePackedField<float, PackedFixedSizeInt<float>>(
        pbz_append_packed_float, floats);
    ExpectSamePackedField<double, PackedFixedSizeInt<double>>(
        pbz_append_packed_double, doubles);
  }
  const bool bools[] = {true, false, true};
  uint8_t buffer[16];
  pbz_writer writer;
  pbz_message message;
  pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
  pbz_begin(&message, &writer);
  pbz_append_packed_bool(&message, 1, bools, 3);
  pbz_append_bool(&message, 2, true);
  ASSERT_EQ(pbz_end(&message), 7u);
  EXPECT_EQ(std::string(buffer, buffer + 7),
            std::string("\x0a\x03\x01\x00\x01\x10\x01", 7));
}

TEST(PbzWriterTest, SeveralRootMessagesInARow) {
  Chunks chunks({5});
  pbz_message message;
  for (uint32_t i = 0; i < 10; ++i) {
    pbz_begin(&message, &chunks.writer);
    pbz_append_uint32(&message, 1, i);
    EXPECT_EQ(pbz_end(&message), 2u);
    EXPECT_EQ(pbz_writer_written(&chunks.writer), 2 * (i + 1));
  }
  EXPECT_EQ(chunks.Bytes().size(), 20u);
}

// Errors.

TEST(PbzWriterTest, ABufferThatIsTooSmallIsNotOverrun) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    const MessageTree tree = WithoutStream(RandomTree(random, 6, 4));
    const size_t size = EncodeTree(tree, OneLargeChunk()).size();
    const size_t step = size / 64 + 1;
    for (size_t capacity = 0; capacity < size + 40; capacity += step) {
      const auto buffer = std::make_unique<uint8_t[]>(capacity);
      pbz_writer writer;
      pbz_message root;
      pbz_writer_init_buffer(&writer, buffer.get(), capacity);
      pbz_begin(&root, &writer);
      WriteC(tree, &root);
      const uint32_t written = pbz_end(&root);
      if (pbz_writer_status(&writer) == PBZ_OK) {
        EXPECT_EQ(written, size);
      } else {
        EXPECT_EQ(pbz_writer_status(&writer), PBZ_OUT_OF_BUFFER);
        EXPECT_EQ(written, 0u);
        // Each open message may need three more bytes.
        EXPECT_LT(capacity, size + 16);
      }
    }
  }
}

TEST(PbzWriterTest, NoMoreChunks) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const MessageTree tree = WithoutStream(RandomTree(random, 8, 5));
    Chunks chunks({4 + random() % 20}, Chunks::Patches::kInPlace, random() % 5);
    pbz_message root;
    pbz_begin(&root, &chunks.writer);
    WriteC(tree, &root);
    const uint32_t size = pbz_end(&root);
    if (pbz_writer_status(&chunks.writer) != PBZ_OK) {
      EXPECT_EQ(pbz_writer_status(&chunks.writer), PBZ_OUT_OF_BUFFER);
      EXPECT_EQ(size, 0u);
    }
  }
}

TEST(PbzWriterTest, ChunksThatAreTooSmallForASize) {
  Chunks chunks({3});
  pbz_message root;
  pbz_message child;
  pbz_begin(&root, &chunks.writer);
  pbz_append_fixed64(&root, 1, 1);
  EXPECT_EQ(pbz_writer_status(&chunks.writer), PBZ_OK);
  pbz_begin_nested(&child, &root, 1);
  EXPECT_EQ(pbz_writer_status(&chunks.writer), PBZ_OUT_OF_BUFFER);
  pbz_append_uint32(&child, 1, 1);
  pbz_append_uint32(&root, 1, 1);
  EXPECT_EQ(pbz_end(&child), 0u);
  EXPECT_EQ(pbz_end(&root), 0u);
}

TEST(PbzWriterTest, AReversedChunk) {
  uint8_t buffer[16];
  pbz_delegate delegate = {[](void* context, size_t) {
                             auto* begin = static_cast<uint8_t*>(context);
                             return pbz_chunk{begin + 16, begin};
                           },
                           nullptr, buffer};
  pbz_writer writer;
  pbz_message root;
  pbz_writer_init(&writer, &delegate);
  pbz_begin(&root, &writer);
  pbz_append_uint32(&root, 1, 1);
  EXPECT_EQ(pbz_end(&root), 0u);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_INVALID_BUFFER);
}

class PbzNestingTest : public testing::Test {
 protected:
  PbzNestingTest() {
    pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
    pbz_begin(&root, &writer);
    pbz_begin_nested(&child, &root, 1);
  }

  uint8_t buffer[256];
  pbz_writer writer;
  pbz_message root;
  pbz_message child;
  pbz_message other;
};

TEST_F(PbzNestingTest, WritingToTheParentOfAnOpenMessage) {
  pbz_append_uint32(&root, 1, 1);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
  pbz_append_uint32(&child, 1, 1);
  pbz_end(&child);
  EXPECT_EQ(pbz_end(&root), 0u);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, TheChildNeedNotExistAnyMore) {
  memset(&child, 0xee, sizeof(child));
  pbz_append_bytes(&root, 1, "abc", 3);
  EXPECT_EQ(pbz_end(&root), 0u);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, AnotherChildOfTheSameMessage) {
  pbz_begin_nested(&other, &root, 1);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
  pbz_append_uint32(&other, 1, 1);
  EXPECT_EQ(pbz_end(&other), 0u);
}

TEST_F(PbzNestingTest, EndingTheParentFirst) {
  EXPECT_EQ(pbz_end(&root), 0u);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, WritingBehindTheEnd) {
  pbz_end(&child);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_OK);
  pbz_append_uint32(&child, 1, 1);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, EndingTwice) {
  pbz_end(&child);
  EXPECT_EQ(pbz_end(&child), 0u);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, AnotherRootMessage) {
  pbz_begin(&other, &writer);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
  pbz_append_uint32(&other, 1, 1);
  EXPECT_EQ(pbz_end(&other), 0u);
}

TEST_F(PbzNestingTest, ADelegateThatWrites) {
  static pbz_message* message;
  pbz_delegate delegate = {[](void*, size_t) {
                             pbz_append_uint32(message, 1, 1);
                             static uint8_t chunk[16];
                             return pbz_chunk{chunk, chunk + sizeof(chunk)};
                           },
                           nullptr, nullptr};
  pbz_writer_init(&writer, &delegate);
  pbz_begin(&root, &writer);
  message = &root;
  pbz_append_uint32(&root, 1, 1);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_WRONG_NESTING);
}

TEST_F(PbzNestingTest, FieldNumbers) {
  for (const uint32_t number : {0u, 536870912u, UINT32_MAX}) {
    SCOPED_TRACE(number);
    for (int i = 0; i < 6; ++i) {
      pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
      pbz_begin(&root, &writer);
      switch (i) {
        case 0:
          pbz_append_uint32(&root, number, 1);
          break;
        case 1:
          pbz_append_fixed32(&root, number, 1);
          break;
        case 2:
          pbz_append_bytes(&root, number, "", 0);
          break;
        case 3:
          pbz_begin_nested(&child, &root, number);
          pbz_append_uint32(&child, 1, 1);
          pbz_end(&child);
          break;
        case 4:
          pbz_begin_group(&child, &root, number);
          break;
        default:
          pbz_append_packed_uint32(&root, number, nullptr, 0);
      }
      EXPECT_EQ(pbz_writer_status(&writer), PBZ_BAD_FIELD_NUMBER);
      EXPECT_EQ(pbz_end(&root), 0u);
    }
  }
  pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
  pbz_begin(&root, &writer);
  pbz_append_uint32(&root, 536870911, 1);
  EXPECT_EQ(pbz_end(&root), 6u);
}

TEST_F(PbzNestingTest, FieldsThatAreTooLong) {
  // Nothing is read, because there is no such array.
  pbz_end(&child);
  pbz_append_bytes(&root, 1, buffer, size_t{1} << 28);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_MESSAGE_TOO_LONG);
  pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
  pbz_begin(&root, &writer);
  const double none = 0;
  pbz_append_packed_double(&root, 1, &none, SIZE_MAX / 2);
  EXPECT_EQ(pbz_writer_status(&writer), PBZ_MESSAGE_TOO_LONG);
}

TEST(PbzWriterTest, MessagesThatAreTooLong) {
  // The writer gets the same chunk each time, because its content does not
  // matter.
  static uint8_t chunk[1 << 20];
  static const uint8_t data[1 << 20] = {};
  pbz_delegate delegate = {
      [](void*, size_t) { return pbz_chunk{chunk, chunk + sizeof(chunk)}; },
      [](void*, uint8_t*) -> uint8_t* { return nullptr; }, nullptr};
  for (const bool is_group : {false, true}) {
    pbz_writer writer;
    pbz_message root;
    pbz_message child;
    pbz_writer_init(&writer, &delegate);
    pbz_begin(&root, &writer);
    (is_group ? pbz_begin_group : pbz_begin_nested)(&child, &root, 1);
    for (int i = 0; i < 257; ++i)
      pbz_append_encoded(&child, data, sizeof(data));
    EXPECT_EQ(pbz_end(&child), is_group ? 257u << 20 : 0u);
    EXPECT_EQ(pbz_writer_status(&writer),
              is_group ? PBZ_OK : PBZ_MESSAGE_TOO_LONG);
  }
}

TEST(PbzWriterTest, EveryStatusHasItsOwnText) {
  std::vector<std::string> texts;
  for (int i = PBZ_OK; i <= PBZ_INVALID_BUFFER; ++i)
    texts.push_back(pbz_status_string(static_cast<pbz_status>(i)));
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace

}  // namespace protozero::test
