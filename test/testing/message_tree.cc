// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/message_tree.h"

#include <string.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/message_handle.h"
#include "protozero/scattered_stream_writer.h"

namespace protozero::test {

namespace {

constexpr uint32_t kMaxId = 536870911;

// Wire types.
enum : uint32_t {
  kVarInt = 0,
  kFixed64 = 1,
  kDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

std::string VarInt(uint64_t value) {
  std::string bytes;
  for (; value > 127; value /= 128)
    bytes += static_cast<char>(value % 128 + 128);
  bytes += static_cast<char>(value);
  return bytes;
}

// Returns |value| as a varint of |size| bytes.
std::string PaddedVarInt(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 1; i <= size; ++i, value /= 128)
    bytes += static_cast<char>(value % 128 + (i < size ? 128 : 0));
  return bytes;
}

std::string LittleEndian(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i, value /= 256)
    bytes += static_cast<char>(value % 256);
  return bytes;
}

std::string Tag(uint32_t id, uint32_t wire_type) {
  return VarInt(uint64_t{id} * 8 + wire_type);
}

// Encodes by the definition of zigzag: 2n for n >= 0, and -2n-1 for n < 0.
uint64_t ZigZag(int64_t value) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  return 2 * magnitude + (value < 0 ? 1 : 0);
}

// Returns the bytes of a field that has no fields in it.
std::string SimpleField(const Field& field) {
  using Kind = Field::Kind;
  const uint64_t number = field.number;
  // Negative numbers are sign-extended by WriteTree()'s cast to int32_t.
  const auto low_half_signed =
      static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(number)));
  switch (field.kind) {
    case Kind::kUnsigned:
    case Kind::kSigned:
      return Tag(field.id, kVarInt) + VarInt(number);
    case Kind::kUnsigned32:
      return Tag(field.id, kVarInt) + VarInt(static_cast<uint32_t>(number));
    case Kind::kSigned32:
      return Tag(field.id, kVarInt) +
             VarInt(static_cast<uint64_t>(low_half_signed));
    case Kind::kZigZag32:
      return Tag(field.id, kVarInt) + VarInt(ZigZag(low_half_signed));
    case Kind::kZigZag64:
      return Tag(field.id, kVarInt) +
             VarInt(ZigZag(static_cast<int64_t>(number)));
    case Kind::kTiny:
      return Tag(field.id, kVarInt) + static_cast<char>(number);
    case Kind::kFixed32:
    case Kind::kFloat:
      return Tag(field.id, kFixed32) + LittleEndian(number, 4);
    case Kind::kFixed64:
    case Kind::kDouble:
      return Tag(field.id, kFixed64) + LittleEndian(number, 8);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kScattered:
    case Kind::kBorrowed:
    case Kind::kReserved:
      return Tag(field.id, kDelimited) + VarInt(field.bytes.size()) +
             field.bytes;
    case Kind::kRaw:
    case Kind::kStream:
      return EncodeTreeCanonically(field.fields);
    case Kind::kNested:
    case Kind::kNestedAndDone:
    case Kind::kNestedHandle:
    case Kind::kGroup:
    case Kind::kGroupAndDone:
    case Kind::kTakenBack:
    case Kind::kGroupTakenBack:
    case Kind::kLook:
      break;
  }
  return std::string();
}

// Simulates chunks that fill up.
class Chunks {
 public:
  explicit Chunks(const ChunkSizes& sizes) : sizes_(&sizes) {}

  // Return the chunk that is being filled: its index, and its bytes so far.
  size_t index() const { return chunks_.empty() ? 0 : chunks_.size() - 1; }
  std::string& current() { return chunks_.back(); }

  // Returns how many bytes were written so far.
  uint64_t written() const { return written_; }

  void Put(std::string_view bytes) {
    while (!bytes.empty()) {
      if (room() == 0)
        Next();
      const size_t size = std::min(bytes.size(), room());
      current().append(bytes.substr(0, size));
      written_ += size;
      bytes.remove_prefix(size);
    }
  }

  // Returns the place of the next byte.
  std::pair<size_t, size_t> NextByte() {
    if (room() == 0)
      Next();
    return {index(), current().size()};
  }

  // Removes the bytes since |place|. Returns false if |place| is not in the
  // current chunk.
  bool TakeBack(std::pair<size_t, size_t> place) {
    if (place.first != index())
      return false;
    written_ -= current().size() - place.second;
    current().resize(place.second);
    return true;
  }

  // Returns the place of |size| contiguous bytes.
  std::pair<size_t, size_t> Reserve(size_t size) {
    if (room() < size)
      Next();
    const size_t offset = current().size();
    current().append(size, '\0');
    written_ += size;
    return {index(), offset};
  }

  void Replace(std::pair<size_t, size_t> place, std::string_view bytes) {
    chunks_[place.first].replace(place.second, bytes.size(), bytes);
  }

  // Writes the size to the four bytes at |place|. Removes three of them if it
  // can.
  void PutSize(std::pair<size_t, size_t> place, uint64_t size) {
    if (size <= 127 && index() == place.first) {
      Replace(place, VarInt(size));
      current().erase(place.second + 1, 3);
      written_ -= 3;
    } else {
      Replace(place, PaddedVarInt(size, 4));
    }
  }

  std::string TakeBytes() {
    std::string bytes;
    for (const std::string& chunk : chunks_)
      bytes += chunk;
    return bytes;
  }

 private:
  size_t room() const {
    return chunks_.empty() ? 0
                           : (*sizes_)[std::min(index(), sizes_->size() - 1)] -
                                 chunks_.back().size();
  }
  void Next() { chunks_.emplace_back(); }

  const ChunkSizes* sizes_;
  std::vector<std::string> chunks_;
  uint64_t written_ = 0;
};

void EncodeTo(const MessageTree& tree,
              Chunks& chunks,
              bool stays_open,
              MessageTree* kept);

// Encodes a field with fields in it. If it |stays_open|, leaves out the bytes
// that sealing it would write. Appends it to |kept| unless that is null.
void EncodeNestedTo(const Field& field,
                    Chunks& chunks,
                    bool stays_open,
                    MessageTree* kept) {
  const std::pair<size_t, size_t> place = chunks.NextByte();
  if (field.is_taken_back()) {
    // A field that is taken back stays if another chunk begins before it is
    // sealed.
    Field nested = field;
    nested.kind = field.is_group() ? Field::Kind::kGroup : Field::Kind::kNested;
    Chunks attempt = chunks;
    EncodeNestedTo(nested, attempt, true, nullptr);
    if (attempt.TakeBack(place)) {
      chunks = attempt;
      return;
    }
  }
  MessageTree kept_fields;
  MessageTree* const keep_fields = kept == nullptr ? nullptr : &kept_fields;
  chunks.Put(Tag(field.id, field.is_group() ? kStartGroup : kDelimited));
  if (field.is_group()) {
    EncodeTo(field.fields, chunks, stays_open && !field.is_done(), keep_fields);
    if (!stays_open)
      chunks.Put(Tag(field.id, kEndGroup));
  } else {
    stays_open = stays_open && !field.is_done();
    const std::pair<size_t, size_t> size_field = chunks.Reserve(4);
    const uint64_t begin = chunks.written();
    EncodeTo(field.fields, chunks, stays_open, keep_fields);
    const uint64_t size = chunks.written() - begin;
    if (!stays_open)
      chunks.PutSize(size_field, size);
  }
  if (kept != nullptr)
    kept->push_back(NestedField(field.id, std::move(kept_fields), field.kind));
}

void EncodeTo(const MessageTree& tree,
              Chunks& chunks,
              bool stays_open,
              MessageTree* kept) {
  // The last field that writes something. Each one before it is sealed by the
  // next.
  const auto last = std::find_if(
      tree.rbegin(), tree.rend(),
      [](const Field& field) { return field.kind != Field::Kind::kLook; });
  for (const Field& field : tree) {
    if (field.is_nested()) {
      EncodeNestedTo(field, chunks, stays_open && &field == &*last, kept);
      continue;
    }
    const std::string bytes = SimpleField(field);
    if (field.kind == Field::Kind::kReserved) {
      chunks.Replace(chunks.Reserve(bytes.size()), bytes);
    } else {
      chunks.Put(bytes);
    }
    if (kept != nullptr)
      kept->push_back(field);
  }
}

// Returns the stream that |message| writes to, when raw bytes would be its own.
ScatteredStreamWriter* StreamOf(Message* message) {
  message->AppendRawProtoBytes(nullptr, 0);  // This seals a child.
  return MessageHandle<Message>(message).TakeStreamWriter();
}

// Asks the stream for something that depends on its position.
void Look(uint64_t at_what, Message* message) {
  const ScatteredStreamWriter& stream = *message->stream_writer();
  // The cast is safe because the tests' writers are not const.
  auto& writer = const_cast<ScatteredStreamWriter&>(stream);
  // Accessors of const objects return the same values as the others, without a
  // change of the object.
  const uint8_t* const write_ptr = stream.write_ptr();
  const uint64_t written = stream.written();
  const size_t bytes_available = stream.bytes_available();
  const Message* const asked =
      at_what % 6 == 4 ? message->nested_message() : message;
  const uint8_t* const size_field =
      asked != nullptr ? asked->size_field() : nullptr;
  EXPECT_EQ(stream.write_ptr(), write_ptr);
  switch (at_what % 6) {
    case 0:
      EXPECT_EQ(writer.write_ptr(), write_ptr);
      break;
    case 1:
      EXPECT_EQ(writer.written(), written);
      break;
    case 2:
      EXPECT_EQ(writer.bytes_available(), bytes_available);
      break;
    case 3:
      EXPECT_EQ(message->size_field(), size_field);
      break;
    case 4:
      if (Message* nested = message->nested_message()) {
        EXPECT_EQ(nested->size_field(), size_field);
      }
      break;
    case 5:
      message->set_size_field(message->size_field());
      break;
  }
}

void WriteField(const Field& field, Message* message) {
  using Kind = Field::Kind;
  const uint32_t id = field.id;
  const uint64_t number = field.number;
  const uint32_t low_half = static_cast<uint32_t>(number);
  switch (field.kind) {
    case Kind::kUnsigned:
      return message->AppendVarInt(id, number);
    case Kind::kSigned:
      return message->AppendVarInt(id, static_cast<int64_t>(number));
    case Kind::kUnsigned32:
      return message->AppendVarInt(id, low_half);
    case Kind::kSigned32:
      return message->AppendVarInt(id, static_cast<int32_t>(low_half));
    case Kind::kZigZag32:
      return message->AppendSignedVarInt(id, static_cast<int32_t>(low_half));
    case Kind::kZigZag64:
      return message->AppendSignedVarInt(id, static_cast<int64_t>(number));
    case Kind::kTiny:
      return message->AppendTinyVarInt(id, static_cast<int32_t>(number));
    case Kind::kFixed32:
      return message->AppendFixed(id, low_half);
    case Kind::kFixed64:
      return message->AppendFixed(id, number);
    case Kind::kFloat: {
      float value;
      memcpy(&value, &low_half, sizeof(value));
      return message->AppendFixed(id, value);
    }
    case Kind::kDouble: {
      double value;
      memcpy(&value, &number, sizeof(value));
      return message->AppendFixed(id, value);
    }
    case Kind::kString:
      return message->AppendString(id, field.bytes);
    case Kind::kBytes:
      return message->AppendBytes(id, field.bytes.data(), field.bytes.size());
    case Kind::kScattered: {
      // The string is passed in three pieces, some of which are empty if it is
      // short.
      std::string bytes = field.bytes;
      uint8_t* data = reinterpret_cast<uint8_t*>(bytes.data());
      const size_t third = bytes.size() / 3;
      ContiguousMemoryRange ranges[] = {
          {data, data + third},
          {data + third, data + 2 * third},
          {data + 2 * third, data + bytes.size()}};
      message->AppendScatteredBytes(id, ranges, 3);
      return;
    }
    case Kind::kBorrowed:
      return message->AppendBorrowedBytes(id, field.bytes.data(),
                                          field.bytes.size());
    case Kind::kRaw: {
      const std::string bytes = SimpleField(field);
      return message->AppendRawProtoBytes(bytes.data(), bytes.size());
    }
    case Kind::kNested:
      return WriteTree(field.fields, message->BeginNestedMessage<Message>(id));
    case Kind::kNestedAndDone: {
      Message* nested = message->BeginNestedMessage<Message>(id);
      WriteTree(field.fields, nested);
      nested->Finalize();
      return;
    }
    case Kind::kNestedHandle: {
      const MessageHandle<Message> nested(
          message->BeginNestedMessage<Message>(id));
      return WriteTree(field.fields, nested.get());
    }
    case Kind::kGroup:
      return WriteTree(field.fields, message->BeginNestedGroup<Message>(id));
    case Kind::kGroupAndDone: {
      Message* group = message->BeginNestedGroup<Message>(id);
      WriteTree(field.fields, group);
      group->Finalize();
      return;
    }
    case Kind::kTakenBack:
      WriteTree(field.fields, message->BeginNestedMessage<Message>(id));
      message->RollBackNestedMessage();
      return;
    case Kind::kGroupTakenBack:
      WriteTree(field.fields, message->BeginNestedGroup<Message>(id));
      message->RollBackNestedMessage();
      return;
    case Kind::kStream: {
      const std::string bytes = SimpleField(field);
      return StreamOf(message)->WriteBytes(
          reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
    case Kind::kReserved: {
      const std::string bytes = SimpleField(field);
      uint8_t* reserved = StreamOf(message)->ReserveBytes(bytes.size());
      if (reserved != nullptr)
        memcpy(reserved, bytes.data(), bytes.size());
      return;
    }
    case Kind::kLook:
      return Look(number, message);
  }
}

// Returns a number. Every magnitude is as likely as any other.
uint64_t RandomNumber(std::mt19937_64& random) {
  const uint64_t number = random() >> random() % 64;
  return random() % 8 == 0 ? ~number : number;
}

}  // namespace

Field BytesField(uint32_t id, std::string bytes, Field::Kind kind) {
  return Field{id, kind, 0, std::move(bytes), {}};
}

Field NestedField(uint32_t id, MessageTree fields, Field::Kind kind) {
  return Field{id, kind, 0, {}, std::move(fields)};
}

ChunkSizes OneLargeChunk() {
  return {size_t{1} << 30};
}

void WriteTree(const MessageTree& tree, Message* message) {
  for (const Field& field : tree)
    WriteField(field, message);
}

std::string EncodeTree(const MessageTree& tree,
                       const ChunkSizes& chunk_sizes,
                       MessageTree* kept) {
  Chunks chunks(chunk_sizes);
  EncodeTo(tree, chunks, false, kept);
  return chunks.TakeBytes();
}

std::string EncodeTreeCanonically(const MessageTree& tree) {
  std::string bytes;
  for (const Field& field : tree) {
    if (field.is_group()) {
      bytes += Tag(field.id, kStartGroup) +
               EncodeTreeCanonically(field.fields) + Tag(field.id, kEndGroup);
    } else if (field.is_nested()) {
      bytes += SimpleField(
          BytesField(field.id, EncodeTreeCanonically(field.fields)));
    } else {
      bytes += SimpleField(field);
    }
  }
  return bytes;
}

MessageTree RandomTree(std::mt19937_64& random,
                       uint32_t max_fields,
                       uint32_t max_depth) {
  using Kind = Field::Kind;
  MessageTree tree(static_cast<size_t>(random() % (max_fields + 1)));
  for (Field& field : tree) {
    field.id = static_cast<uint32_t>(
        std::clamp<uint64_t>(random() >> (35 + random() % 29), 1, kMaxId));
    field.kind = random() % 5 == 0
                     ? Kind::kNested
                     : static_cast<Kind>(random() % Field::kNumKinds);
    field.number = RandomNumber(random);
    if (field.kind == Kind::kTiny)
      field.number %= 128;
    if (field.is_bytes()) {
      uint64_t size = random() % (random() % 8 == 0 ? 500 : 70);
      if (field.kind == Kind::kReserved) {
        field.id = field.id % 15 + 1;
        size %= 3;
      }
      for (uint64_t i = 0; i < size; ++i)
        field.bytes += static_cast<char>('a' + random() % 26);
    } else if (field.is_nested() || field.is_raw()) {
      if (max_depth > 0)
        field.fields = RandomTree(random, max_fields, max_depth - 1);
    }
  }
  return tree;
}

MessageTree RandomTreeOfSize(std::mt19937_64& random,
                             size_t size,
                             uint32_t max_depth) {
  using Kind = Field::Kind;
  constexpr size_t kBorders[] = {127, 128, 512};
  constexpr Kind kNestedKinds[] = {Kind::kNested,        Kind::kNested,
                                   Kind::kNestedAndDone, Kind::kNestedHandle,
                                   Kind::kGroup,         Kind::kTakenBack};
  MessageTree tree;
  while (size > 0) {
    MessageTree more;
    if (max_depth > 0 && random() % 3 != 0) {
      // The size is as large as there is room for, close to a border, or
      // anything.
      uint64_t nested_size = size > 2 ? size - 2 : 0;
      if (random() % 3 == 0)
        nested_size = kBorders[random() % 3] + random() % 8 - 4;
      if (random() % 3 == 0 || nested_size > size)
        nested_size = random() % size;
      more = {
          NestedField(static_cast<uint32_t>(1 + random() % 15),
                      RandomTreeOfSize(random, static_cast<size_t>(nested_size),
                                       max_depth - 1),
                      kNestedKinds[random() % std::size(kNestedKinds)])};
    } else if (random() % 8 == 0 && size > 5) {
      more = {BytesField(
          1, std::string(size - 5 + static_cast<size_t>(random() % 3), 'x'))};
    } else {
      more = RandomTree(random, 1, 0);
    }
    tree.insert(tree.end(), more.begin(), more.end());
    // Nearly every round takes something from |size|, so this ends.
    const size_t written = EncodeTree(more, OneLargeChunk()).size();
    size -= std::min(size, std::max<size_t>(written, random() % 2));
  }
  return tree;
}

}  // namespace protozero::test
