// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/conformance/c_copy.h"

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/c/pbz_decoder.h"
#include "protozero/c/pbz_writer.h"
#include "protozero/field.h"
#include "protozero/message.h"
#include "protozero/proto_decoder.h"
#include "protozero/root_message.h"
#include "test/testing/c_chunks.h"
#include "test/testing/chunked_stream.h"

namespace protozero::conformance {
namespace {

using pbz::FieldType;
using pbz::MessageType;
using pbz::SchemaType;

// The transcoder's limit.
constexpr int kMaxDepth = 100;

// Returns null if the field is unknown or is not a message.
const MessageType* MessageOf(const MessageType* type,
                             uint32_t id,
                             SchemaType wanted) {
  const FieldType* field = type != nullptr ? type->FindField(id) : nullptr;
  return field != nullptr && field->type == wanted ? field->message : nullptr;
}

void CopyByCpp(const MessageType* type,
               ConstBytes in,
               int depth,
               Message* out) {
  using proto_utils::ProtoWireType;
  ProtoDecoder decoder(in);
  for (Field field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    const uint32_t id = field.id();
    const bool is_group = field.type() == ProtoWireType::kStartGroup;
    const MessageType* message = MessageOf(
        type, id, is_group ? SchemaType::kGroup : SchemaType::kMessage);
    if (field.type() == ProtoWireType::kVarInt) {
      out->AppendVarInt(id, field.as_uint64());
    } else if (field.type() == ProtoWireType::kFixed32) {
      out->AppendFixed(id, field.as_uint32());
    } else if (field.type() == ProtoWireType::kFixed64) {
      out->AppendFixed(id, field.as_uint64());
    } else if (is_group && depth < kMaxDepth) {
      CopyByCpp(message, field.as_bytes(), depth + 1,
                out->BeginNestedGroup<Message>(id));
    } else if (message != nullptr && depth < kMaxDepth) {
      CopyByCpp(message, field.as_bytes(), depth + 1,
                out->BeginNestedMessage<Message>(id));
    } else {
      out->AppendBytes(id, field.data(), field.size());
    }
  }
}

void CopyByC(const MessageType* type,
             const uint8_t* data,
             size_t size,
             int depth,
             pbz_message* out) {
  pbz_decoder decoder;
  pbz_field field;
  pbz_message child;
  pbz_decoder_init(&decoder, data, size);
  while (pbz_decoder_next(&decoder, &field)) {
    const uint32_t id = field.number;
    const bool is_group = field.wire_type == PBZ_WIRE_GROUP;
    const MessageType* message = MessageOf(
        type, id, is_group ? SchemaType::kGroup : SchemaType::kMessage);
    if (field.wire_type == PBZ_WIRE_VARINT) {
      pbz_append_uint64(out, id, pbz_field_uint64(&field));
    } else if (field.wire_type == PBZ_WIRE_FIXED32) {
      pbz_append_fixed32(out, id, pbz_field_uint32(&field));
    } else if (field.wire_type == PBZ_WIRE_FIXED64) {
      pbz_append_fixed64(out, id, pbz_field_uint64(&field));
    } else if ((is_group || message != nullptr) && depth < kMaxDepth) {
      (is_group ? pbz_begin_group : pbz_begin_nested)(&child, out, id);
      CopyByC(message, field.data, field.size, depth + 1, &child);
      pbz_end(&child);
    } else {
      pbz_append_bytes(out, id, field.data, field.size);
    }
  }
}

}  // namespace

std::string CompareCWithCpp(const MessageType& type, ConstBytes message) {
  ProtoDecoder decoder(message);
  while (decoder.ReadField().valid()) {
  }
  pbz_decoder c_decoder;
  pbz_field field;
  pbz_decoder_init(&c_decoder, message.data, message.size);
  while (pbz_decoder_next(&c_decoder, &field)) {
  }
  if (static_cast<int>(c_decoder.status) != static_cast<int>(decoder.status()))
    return pbz_decode_status_string(c_decoder.status);

  const std::vector<size_t> sizes = {64, 16, 100, 1024};
  test::ChunkedStream stream(sizes);
  RootMessage<Message> root;
  root.Reset(&stream.writer);
  CopyByCpp(&type, message, 0, &root);
  root.Finalize();

  test::CChunks chunks(sizes);
  pbz_message c_root;
  pbz_begin(&c_root, &chunks.writer);
  CopyByC(&type, message.data, message.size, 0, &c_root);
  pbz_end(&c_root);
  if (pbz_writer_status(&chunks.writer) != PBZ_OK)
    return pbz_status_string(pbz_writer_status(&chunks.writer));
  return chunks.Bytes() == stream.delegate.Bytes() ? std::string()
                                                   : "other bytes";
}

}  // namespace protozero::conformance
