// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/row_stream.h"

#include <stddef.h>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"

namespace pbz {

namespace {

using protozero::ConstBytes;
using protozero::Field;
using protozero::proto_utils::ProtoWireType;

bool IsMessageOf(const Field& field, const PathStep& step) {
  if (field.id() != step.id)
    return false;
  const bool is_group = field.type() == ProtoWireType::kStartGroup;
  if (!is_group && field.type() != ProtoWireType::kLengthDelimited)
    return false;
  return !step.type || (step.type->type == SchemaType::kGroup) == is_group;
}

// Calls |use| with each message below |bytes|. |level| counts the steps of
// |path| that lead to |bytes|. Returns false if |use| does.
bool Descend(ConstBytes bytes,
             uint64_t offset,
             const std::vector<PathStep>& path,
             size_t level,
             MalformedReport* report,
             const OnMessageBytes& use) {
  if (level == path.size())
    return use(bytes, offset);
  protozero::ProtoDecoder decoder(bytes);
  size_t begin = 0;
  for (Field field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    if (IsMessageOf(field, path[level])) {
      const ConstBytes content = field.as_bytes();
      // A group's end tag is after the content, so it does not change |place|.
      const auto place = static_cast<uint64_t>(content.data - bytes.data);
      if (!Descend(content, offset + place, path, level + 1, report, use))
        return false;
    }
    begin = decoder.read_offset();
  }
  if (decoder.status() != protozero::DecodeStatus::kOk) {
    report->Add(offset + begin,
                protozero::DecodeStatusToString(decoder.status()));
  }
  return true;
}

}  // namespace

void ForEachMessage(FieldStream* stream,
                    const std::vector<PathStep>& path,
                    MalformedReport* report,
                    const OnMessageBytes& use) {
  const bool is_one = path.empty() && stream->framing() == Framing::kOneMessage;
  std::vector<uint8_t> whole;
  FieldStream::Run run;
  while (stream->Next(&run)) {
    if (run.malformed)
      report->Add(run.offset - run.size_size, run.malformed);
    else if (is_one)
      whole.insert(whole.end(), run.data, run.data + run.size);
    else if (!Descend({run.data, run.size}, run.offset, path, 0, report, use))
      return;
  }
  if (is_one && stream->error().empty())
    use(ConstBytes(whole), 0);
}

}  // namespace pbz
