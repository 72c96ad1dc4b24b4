// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/tracing/numbered_packets.h"

#include <algorithm>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"

namespace protozero::test {

namespace {

// The field ids of the packet. A service may write the trusted ones, and the
// writers of Perfetto's SDKs write the one of the first packet.
constexpr uint32_t kTimestampFieldId = 8;
constexpr uint32_t kEventFieldId = 900;
constexpr uint32_t kPreviousPacketDroppedFieldId = 42;
constexpr uint32_t kFirstPacketOnSequenceFieldId = 87;
constexpr uint32_t kTrustedFieldIds[] = {
    3, 10, 42, 79, kFirstPacketOnSequenceFieldId, 98};
// The field ids of the event.
constexpr uint32_t kStreamFieldId = 1;
constexpr uint32_t kIndexFieldId = 2;
constexpr uint32_t kNodeFieldId = 3;
// The field ids of a node.
constexpr uint32_t kBytesFieldId = 1;
constexpr uint32_t kChildFieldId = 2;
constexpr uint32_t kFixedFieldId = 3;

constexpr int kMaxDepth = 6;

// Random numbers that are different for each packet, and the same on each
// system.
class Random {
 public:
  Random(uint32_t stream, uint32_t index)
      : state_((uint64_t{stream} << 32 | index) * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d >> 16;
  }
  uint32_t Below(uint32_t limit) {
    return static_cast<uint32_t>(Next() % limit);
  }

 private:
  uint64_t state_;
};

// Writes about |size| bytes.
void WriteNode(Random* random,
               uint32_t size,
               int depth,
               Message* node,
               const std::function<void()>& pause) {
  const uint32_t num_children =
      depth < kMaxDepth && size > 30 ? random->Below(4) : 0;
  uint32_t rest = size;
  for (uint32_t i = 0; i < num_children && rest > 0; ++i) {
    const uint32_t child_size = random->Below(rest) + 1;
    WriteNode(random, child_size, depth + 1,
              node->BeginNestedMessage<Message>(kChildFieldId), pause);
    rest -= child_size;
  }
  if (random->Below(2) != 0)
    node->AppendFixed(kFixedFieldId, random->Next());
  char bytes[256];
  while (rest > 0) {
    if (pause != nullptr)
      pause();
    const uint32_t now = std::min<uint32_t>(rest, sizeof(bytes));
    for (uint32_t i = 0; i < now; ++i)
      bytes[i] = static_cast<char>(random->Next());
    node->AppendBytes(kBytesFieldId, bytes, now);
    rest -= now;
  }
}

// Appends the content of a message, however its lengths are encoded. |nested|
// is the id of the field that is a message.
enum class Kind { kPacket, kEvent, kNode };
void Canonicalize(ConstBytes message, Kind kind, std::string* text) {
  ProtoDecoder decoder(message);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const uint32_t id = field.id();
    if (kind == Kind::kPacket &&
        std::count(std::begin(kTrustedFieldIds), std::end(kTrustedFieldIds),
                   id) != 0) {
      continue;
    }
    *text += std::to_string(id);
    const uint32_t nested = kind == Kind::kPacket  ? kEventFieldId
                            : kind == Kind::kEvent ? kNodeFieldId
                                                   : kChildFieldId;
    if (id == nested) {
      *text += '{';
      Canonicalize(field.as_bytes(),
                   kind == Kind::kPacket ? Kind::kEvent : Kind::kNode, text);
      *text += '}';
    } else if (field.type() == proto_utils::ProtoWireType::kLengthDelimited) {
      *text += ':' + std::to_string(field.size()) + ':';
      text->append(field.as_bytes().ToStdStringView());
    } else {
      *text += '=' + std::to_string(field.raw_int_value()) + ' ';
    }
  }
  if (decoder.status() != DecodeStatus::kOk)
    *text += "malformed";
}

}  // namespace

void WriteNumberedPacket(uint32_t stream,
                         uint32_t index,
                         uint32_t max_size,
                         Message* packet,
                         const std::function<void()>& pause) {
  Random random(stream, index);
  // Most packets are small.
  const uint32_t limits[] = {20, 40, 40, 60, 100, 600, 600, 4000, 4000};
  uint32_t limit = limits[random.Below(9)];
  if (random.Below(200) == 0)
    limit = max_size;
  packet->AppendVarInt(kTimestampFieldId, index);
  Message* const event = packet->BeginNestedMessage<Message>(kEventFieldId);
  event->AppendVarInt(kStreamFieldId, stream);
  event->AppendVarInt(kIndexFieldId, index);
  WriteNode(&random, random.Below(std::min(limit, max_size)), 1,
            event->BeginNestedMessage<Message>(kNodeFieldId), pause);
}

void PacketChecker::Error(const std::string& error) {
  if (++num_errors_ <= 10)
    errors_ += error + "\n";
}

void PacketChecker::AddTrace(std::string_view trace) {
  ProtoDecoder decoder(trace);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == 1)
      AddPacket(field.as_bytes());
    else
      Error("the trace has field " + std::to_string(field.id()));
  }
  if (decoder.status() != DecodeStatus::kOk)
    Error("the trace is malformed");
}

void PacketChecker::AddPacket(ConstBytes packet) {
  ProtoDecoder decoder(packet);
  const Field event = decoder.FindField(kEventFieldId);
  if (!event)
    return;
  ProtoDecoder event_decoder(event.as_bytes());
  const uint32_t stream_id =
      event_decoder.FindField(kStreamFieldId).as_uint32();
  const uint32_t index = event_decoder.FindField(kIndexFieldId).as_uint32();
  const std::string name =
      "packet " + std::to_string(index) + " of " + std::to_string(stream_id);

  std::string got;
  Canonicalize(packet, Kind::kPacket, &got);
  HeapBuffered<Message> written;
  WriteNumberedPacket(stream_id, index, max_size_, written.get());
  std::string expected;
  const std::vector<uint8_t> bytes = written.SerializeAsArray();
  Canonicalize(bytes, Kind::kPacket, &expected);
  if (got != expected)
    return Error(name + " is not what was written");

  Stream& stream = streams_[stream_id];
  ++stream.received;
  if (index < stream.next_index)
    Error(name + " comes late, or twice");
  if (index > stream.next_index) {
    ++stream.gaps;
    if (!decoder.FindField(kPreviousPacketDroppedFieldId).as_bool())
      Error(name + " does not say that something is missing before it");
  }
  stream.next_index = index + 1;
}

uint64_t PacketChecker::received() const {
  uint64_t sum = 0;
  for (const auto& [id, stream] : streams_)
    sum += stream.received;
  return sum;
}

}  // namespace protozero::test
