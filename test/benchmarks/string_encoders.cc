// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Messages that end in a string or a vector, or in the memory of a message, by
// setters in place and by setters that are calls: see BUILD.gn.

#include <stdint.h>
#include <string.h>

#include <string>
#include <vector>

#include "protozero/contiguous_memory_range.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "protozero/string_buffer.h"
#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/benchmarks/protozero_encoders.h"

namespace protozero {
namespace bench {

namespace {

using Reply = Api::Reply;

// The most bytes of a message: sizes may take three bytes too many.
constexpr size_t kMostBytes = 2 * kLargestReply;

// A new message and a new string each time.
class HeapEncoder final : public EncoderWithLoop<HeapEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    HeapBuffered<Reply> message;
    StringWorkload::Fill(message.get(), input);
    return CopyString(message.SerializeAsString(), begin);
  }
};

class HeapReusedEncoder final
    : public EncoderWithLoop<HeapReusedEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Reset();
    StringWorkload::Fill(message_.get(), input);
    return CopyString(message_.SerializeAsString(), begin);
  }

 private:
  HeapBuffered<Reply> message_;
};

// The bytes stay in the message, in one piece or in several.
class HeapFinalizeEncoder final
    : public EncoderWithLoop<HeapFinalizeEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Reset();
    StringWorkload::Fill(message_.get(), input);
    const size_t size = message_->Finalize();
    const uint8_t* const data = message_->stream_writer()->cur_range().begin;
    const uint8_t* const end = message_->stream_writer()->own_write_ptr();
    if (static_cast<size_t>(end - data) != size)
      return CopyRanges(begin);
    memcpy(begin, data, size);
    return size;
  }

 private:
  size_t CopyRanges(uint8_t* begin) {
    uint8_t* end = begin;
    for (const ContiguousMemoryRange& range : message_.GetRanges()) {
      memcpy(end, range.begin, range.size());
      end += range.size();
    }
    return static_cast<size_t>(end - begin);
  }

  HeapBuffered<Reply> message_;
};

class StaticFinalizeEncoder final
    : public EncoderWithLoop<StaticFinalizeEncoder, ReplyInput> {
 public:
  StaticFinalizeEncoder() : bytes_(kMostBytes) {}

  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Reset(stream_.writer(),
                   {bytes_.data(), bytes_.data() + bytes_.size()});
    StringWorkload::Fill(&message_, input);
    const size_t size = message_.Finalize();
    memcpy(begin, bytes_.data(), size);
    return size;
  }

 private:
  MovingStream stream_;
  RootMessage<Reply> message_;
  std::vector<uint8_t> bytes_;
};

// A buffer on the stack, and a string of it.
class StackEncoder final : public EncoderWithLoop<StackEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    StackBuffered<Reply, kMostBytes> message;
    StringWorkload::Fill(message.get(), input);
    const size_t size = message.Finalize();
    return CopyString(
        std::string(reinterpret_cast<const char*>(message.data()), size),
        begin);
  }
};

// The bytes go straight into a new string.
class StringEncoder final : public EncoderWithLoop<StringEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    std::string string;
    StringBuffered<Reply> message(&string);
    StringWorkload::Fill(message.get(), input);
    message.Finalize();
    return CopyString(string, begin);
  }
};

// The container and the message are used again. The container has its room from
// the beginning, because the size of a child that is open when there is no more
// takes four bytes, and rows write the same bytes each time.
template <typename Bytes>
class SameContainerEncoder final
    : public EncoderWithLoop<SameContainerEncoder<Bytes>, ReplyInput> {
 public:
  SameContainerEncoder() : message_(&bytes_) { bytes_.reserve(kMostBytes); }

  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    bytes_.clear();
    message_.Reset();
    StringWorkload::Fill(message_.get(), input);
    message_.Finalize();
    return CopyString(bytes_, begin);
  }

 private:
  Bytes bytes_;
  ContainerBuffered<Reply, Bytes> message_;
};

// The message is used again, and its bytes are copied to the same string.
class SerializeToStringEncoder final
    : public EncoderWithLoop<SerializeToStringEncoder, ReplyInput> {
 public:
  BENCH_INLINE size_t EncodeMessage(const ReplyInput* input,
                                    uint8_t* begin,
                                    size_t) {
    message_.Reset();
    StringWorkload::Fill(message_.get(), input);
    if (!message_.SerializeToString(&string_))
      return 0;
    return CopyString(string_, begin);
  }

 private:
  HeapBuffered<Reply> message_;
  std::string string_;
};

template <typename T>
void AddString(const char* name, const char* suffix, EncoderList* encoders) {
  AddEncoder<T>(StringWorkload::kName, name, encoders);
  encoders->back().implementation += suffix;
}

void AddEncoders(const char* suffix, EncoderList* encoders) {
  AddString<HeapEncoder>("Protozero", suffix, encoders);
  AddString<HeapReusedEncoder>("ProtozeroReused", suffix, encoders);
  AddString<SerializeToStringEncoder>("ProtozeroSameString", suffix, encoders);
  AddString<HeapFinalizeEncoder>("HeapFinalize", suffix, encoders);
  AddString<StaticFinalizeEncoder>("StaticFinalize", suffix, encoders);
  AddString<StackEncoder>("Stack", suffix, encoders);
  AddString<StringEncoder>("StringBuffered", suffix, encoders);
  AddString<SameContainerEncoder<std::string>>("StringBufferedReused", suffix,
                                               encoders);
  AddString<SameContainerEncoder<std::vector<uint8_t>>>("VectorBufferedReused",
                                                        suffix, encoders);
}

}  // namespace

#if PROTOZERO_INLINE_SETTERS
void AddStringEncoders(EncoderList* encoders) {
  AddEncoders("", encoders);
}
#else
void AddCalledStringEncoders(EncoderList* encoders) {
  AddEncoders("Called", encoders);
}
#endif

}  // namespace bench
}  // namespace protozero
