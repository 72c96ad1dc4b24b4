// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/arena.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/stubs/common.h>

#include <string.h>

#include <algorithm>
#include <array>
#include <string>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/benchmarks/perfetto_trace.pb.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {

namespace {

struct Api {
  using Blob = benchmark::Blob;
  using Children = benchmark::Children;
  using EveryField = benchmark::EveryField;
  using Packed = benchmark::Packed;
  using Records = benchmark::Records;
  using Reply = benchmark::Reply;
  using ThirtyFields = benchmark::ThirtyFields;
  using TracePacket = ::perfetto::protos::TracePacket;
  using Varints = benchmark::Varints;
};

struct PackedVarintsWorkload {
  static constexpr const char* kName = "PackedVarints";
  using Input = PackedInput;
  template <typename>
  using Message = Api::Packed;

  static void Fill(Api::Packed* message, const PackedInput* input) {
    message->mutable_varints()->Add(input->values,
                                    input->values + input->count);
  }
};

struct PackedFixed64Workload {
  static constexpr const char* kName = "PackedFixed64";
  using Input = PackedInput;
  template <typename>
  using Message = Api::Packed;

  static void Fill(Api::Packed* message, const PackedInput* input) {
    message->mutable_fixed()->Add(input->values, input->values + input->count);
  }
};

template <typename Message>
size_t Serialize(const Message& message, uint8_t* begin, size_t capacity) {
  if (!message.SerializeToArray(begin, static_cast<int>(capacity)))
    return 0;
  return static_cast<size_t>(message.GetCachedSize());
}

// A stream that hands out a buffer in chunks.
class ChunkStream final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  ChunkStream(uint8_t* begin, size_t capacity)
      : begin_(begin), next_(begin), end_(begin + capacity) {}

  bool Next(void** data, int* size) override {
    const size_t bytes =
        std::min(static_cast<size_t>(end_ - next_), kChunkSize);
    *data = next_;
    *size = static_cast<int>(bytes);
    next_ += bytes;
    return bytes != 0;
  }
  void BackUp(int count) override { next_ -= count; }
  int64_t ByteCount() const override { return next_ - begin_; }

 private:
  uint8_t* const begin_;
  uint8_t* next_;
  uint8_t* const end_;
};

template <typename Message>
size_t SerializeToChunks(const Message& message,
                         uint8_t* begin,
                         size_t capacity) {
  ChunkStream stream(begin, capacity);
  if (!message.SerializeToZeroCopyStream(&stream))
    return 0;
  return static_cast<size_t>(stream.ByteCount());
}

template <typename Message>
using Serializer = size_t (*)(const Message&, uint8_t*, size_t);

// A message per event, as most users write it.
template <typename Workload,
          typename Message = typename Workload::template Message<Api>,
          Serializer<Message> kSerialize = Serialize<Message>>
class FreshEncoder final
    : public EncoderWithLoop<FreshEncoder<Workload, Message, kSerialize>,
                             typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    Message message;
    Workload::Fill(&message, input);
    return kSerialize(message, begin, capacity);
  }
};

// One message for all events. Its strings and children keep their memory.
template <typename Workload,
          typename Message = typename Workload::template Message<Api>,
          Serializer<Message> kSerialize = Serialize<Message>>
class ReusedEncoder final
    : public EncoderWithLoop<ReusedEncoder<Workload, Message, kSerialize>,
                             typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    message_.Clear();
    Workload::Fill(&message_, input);
    return kSerialize(message_, begin, capacity);
  }

 private:
  Message message_;
};

// An arena per event, over a block that all events share. One arena that is
// reset after each event was slower.
// The function has one name in Debian's version, and another in new ones.
template <typename Message>
Message* MakeOnArena(google::protobuf::Arena* arena) {
#if GOOGLE_PROTOBUF_VERSION < 5000000
  return google::protobuf::Arena::CreateMessage<Message>(arena);
#else
  return google::protobuf::Arena::Create<Message>(arena);
#endif
}

template <typename Workload>
class ArenaEncoder final
    : public EncoderWithLoop<ArenaEncoder<Workload>, typename Workload::Input> {
 public:
  BENCH_INLINE size_t EncodeMessage(const typename Workload::Input* input,
                                    uint8_t* begin,
                                    size_t capacity) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block_.data();
    options.initial_block_size = block_.size();
    google::protobuf::Arena arena(options);
    auto* message =
        MakeOnArena<typename Workload::template Message<Api>>(&arena);
    Workload::Fill(message, input);
    return Serialize(*message, begin, capacity);
  }

 private:
  alignas(16) std::array<char, 16 * 1024> block_;
};

class StringFreshEncoder final
    : public EncoderWithLoop<StringFreshEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    Api::Reply message;
    StringWorkload::Fill(&message, input);
    return CopyString(message.SerializeAsString(), begin);
  }
};

class StringReusedEncoder final
    : public EncoderWithLoop<StringReusedEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Clear();
    StringWorkload::Fill(&message_, input);
    return CopyString(message_.SerializeAsString(), begin);
  }

 private:
  Api::Reply message_;
};

// The string is reused, too.
class SameStringEncoder final
    : public EncoderWithLoop<SameStringEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Clear();
    StringWorkload::Fill(&message_, input);
    if (!message_.SerializeToString(&string_))
      return 0;
    return CopyString(string_, begin);
  }

 private:
  Api::Reply message_;
  std::string string_;
};

class StringArenaEncoder final
    : public EncoderWithLoop<StringArenaEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block_.data();
    options.initial_block_size = block_.size();
    google::protobuf::Arena arena(options);
    auto* message = MakeOnArena<Api::Reply>(&arena);
    StringWorkload::Fill(message, input);
    return CopyString(message->SerializeAsString(), begin);
  }

 private:
  alignas(16) std::array<char, 16 * 1024> block_;
};

template <typename Workload>
void AddWorkload(EncoderList* encoders) {
  AddEncoder<FreshEncoder<Workload>>(Workload::kName, "Libprotobuf", encoders);
  AddEncoder<ReusedEncoder<Workload>>(Workload::kName, "LibprotobufReused",
                                      encoders);
}

template <typename Workload>
void AddWorkloadWithCallSites(EncoderList* encoders) {
  AddEncoderWithCallSites<FreshEncoder<Workload>>(Workload::kName,
                                                  "Libprotobuf", encoders);
  AddEncoderWithCallSites<ReusedEncoder<Workload>>(
      Workload::kName, "LibprotobufReused", encoders);
}

template <typename Workload>
void AddArenaEncoder(EncoderList* encoders) {
  AddEncoder<ArenaEncoder<Workload>>(Workload::kName, "LibprotobufArena",
                                     encoders);
}

void AddChunksWorkload(EncoderList* encoders) {
  using Message = Api::Records;
  constexpr Serializer<Message> kSerialize = SerializeToChunks<Message>;
  AddEncoder<FreshEncoder<ChunksWorkload, Message, kSerialize>>(
      ChunksWorkload::kName, "Libprotobuf", encoders);
  AddEncoder<ReusedEncoder<ChunksWorkload, Message, kSerialize>>(
      ChunksWorkload::kName, "LibprotobufReused", encoders);
}

}  // namespace

void AddLibprotobufEncoders(EncoderList* encoders) {
  AddWorkloadWithCallSites<SimpleWorkload>(encoders);
  AddArenaEncoder<SimpleWorkload>(encoders);
  AddWorkload<NestedWorkload>(encoders);
  AddArenaEncoder<NestedWorkload>(encoders);
  AddWorkload<HelpersWorkload<>>(encoders);
  AddArenaEncoder<HelpersWorkload<>>(encoders);
  AddWorkload<RandomVarintsWorkload>(encoders);
  AddWorkload<TimestampsWorkload>(encoders);
  AddWorkload<RandomBytesWorkload>(encoders);
  AddWorkload<ThirtyFieldsWorkload>(encoders);
  AddWorkload<ChildrenWorkload>(encoders);
  AddWorkload<PackedVarintsWorkload>(encoders);
  AddWorkload<PackedFixed64Workload>(encoders);
  AddWorkload<DeepWorkload>(encoders);
  AddChunksWorkload(encoders);
  AddWorkloadWithCallSites<MixedCorpusWorkload>(encoders);
  AddWorkload<BytesWorkload>(encoders);
  constexpr const char* kString = StringWorkload::kName;
  AddEncoder<StringFreshEncoder>(kString, "Libprotobuf", encoders);
  AddEncoder<StringReusedEncoder>(kString, "LibprotobufReused", encoders);
  AddEncoder<SameStringEncoder>(kString, "LibprotobufSameString", encoders);
  AddEncoder<StringArenaEncoder>(kString, "LibprotobufArena", encoders);
}

std::string LibprotobufVersion() {
  return "libprotobuf " +
         google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
}

}  // namespace bench
}  // namespace protozero
