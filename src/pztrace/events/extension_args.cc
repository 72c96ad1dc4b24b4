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

// The numbers of TrackEvent's extensions begin here.
constexpr uint32_t kFirstExtension = 1000;

// The extensions of an event. Most events have none, and need not be read
// again.
struct Extensions {
  Extensions(protozero::ConstBytes bytes, const pbz::MessageType& type) {
    protozero::ProtoDecoder decoder(bytes);
    for (auto f = decoder.ReadField(); f.valid(); f = decoder.ReadField()) {
      const pbz::FieldType* const field = type.FindField(f.id());
      has_described |= field != nullptr && field->is_extension;
      num_undescribed += field == nullptr && f.id() >= kFirstExtension;
    }
  }
  bool has_described = false;
  uint64_t num_undescribed = 0;
};

}  // namespace

uint64_t AddExtensions(protozero::ConstBytes bytes,
                       const pbz::MessageType& type,
                       ArgEncoder* args) {
  const Extensions extensions(bytes, type);
  pbz::MessageItems message;
  if (!extensions.has_described || !message.Read(bytes, 0, type, nullptr))
    return extensions.num_undescribed;
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
  return extensions.num_undescribed;
}

}  // namespace pztrace
