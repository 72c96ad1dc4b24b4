// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/extension_args.h"

#include <stdint.h>

#include <map>
#include <vector>

#include "protozero/proto_decoder.h"
#include "src/pbz/field_path.h"
#include "src/pbz/message_items.h"
#include "src/program/value_sink.h"

namespace pztrace {

namespace {

// Returns whether an event has extensions. Most have none, and need not be read
// again.
bool HasExtensions(protozero::ConstBytes bytes, const pbz::MessageType& type) {
  protozero::ProtoDecoder decoder(bytes);
  for (auto f = decoder.ReadField(); f.valid(); f = decoder.ReadField()) {
    const pbz::FieldType* const field = type.FindField(f.id());
    if (field != nullptr && field->is_extension)
      return true;
  }
  return false;
}

}  // namespace

void AddExtensions(protozero::ConstBytes bytes,
                   const pbz::MessageType& type,
                   ArgEncoder* args) {
  pbz::MessageItems message;
  if (!HasExtensions(bytes, type) || !message.Read(bytes, 0, type, nullptr))
    return;
  const std::vector<pbz::Item>& items = message.items();
  std::map<uint32_t, std::vector<uint32_t>> parts;
  for (uint32_t i = 0; i < items.size(); i = items[i].end) {
    if (items[i].type->is_extension)
      parts[items[i].type->id].push_back(i);
  }
  for (const auto& [id, of_field] : parts) {
    const pbz::FieldType& field = *type.FindField(id);
    args->SharedName(pbz::PathName(field),
                     program::ValueSink::NameKind::kField);
    pbz::AddFieldValue(items, of_field, field, args);
  }
}

}  // namespace pztrace
