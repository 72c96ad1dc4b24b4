// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/embedded_schema.h"
#include "src/tracing/track_event/tasks.h"
#include "src/tracing/track_event/trace_extensions.h"

namespace {

using protozero::Field;
using protozero::ProtoDecoder;

// Fields of descriptor.proto.
enum : uint32_t {
  kName = 1,  // A field of all descriptors.
  kSetFile = 1,
  kFilePackage = 2,
  kFileMessage = 4,
  kFileExtension = 7,
  kMessageField = 2,
  kFieldExtendee = 2,
};

std::string Delimited(uint32_t id, std::string_view content) {
  std::string field(1, static_cast<char>(id << 3 | 2));
  size_t size = content.size();
  for (; size > 127; size >>= 7)
    field += static_cast<char>(size | 128);
  field += static_cast<char>(size);
  return field.append(content);
}

// Returns the bytes of the member of |list| with that name.
std::string FindNamed(const std::string& bytes,
                      uint32_t list,
                      std::string_view name) {
  ProtoDecoder decoder(bytes);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == list && ProtoDecoder(field.as_bytes())
                                      .FindField(kName)
                                      .as_string()
                                      .ToStdStringView() == name) {
      return field.as_bytes().ToStdString();
    }
  }
  return {};
}

// Returns the set that describes TrackEvent.task, a field of trace.proto, as an
// extension.
std::string SetFromSchema() {
  const std::string file = FindNamed(pbz::kTraceSchema.ToStdString(), kSetFile,
                                     "protozero/tracing/trace.proto");
  const std::string event = FindNamed(file, kFileMessage, "TrackEvent");
  const std::string task = FindNamed(event, kMessageField, "task");
  std::string extension = Delimited(kName, "task");
  extension += Delimited(kFieldExtendee, ".perfetto.protos.TrackEvent");
  // The name comes first in the field, too.
  extension += task.substr(Delimited(kName, "task").size());
  return Delimited(
      kSetFile,
      Delimited(kName, "protozero/tracing/task_event.proto") +
          Delimited(kFilePackage, "perfetto.protos") +
          Delimited(kFileMessage, FindNamed(file, kFileMessage, "TaskEvent")) +
          Delimited(kFileExtension, extension));
}

// Returns C++ of the bytes.
std::string LiteralOf(const std::string& bytes) {
  std::string literal = "\"";
  bool is_escaped = false;  // A digit after an escape could belong to it.
  for (const char c : bytes) {
    const auto code = static_cast<uint8_t>(c);
    if (code >= ' ' && code <= '~' && c != '"' && c != '\\' && c != '?' &&
        !(is_escaped && c >= '0' && c <= '7')) {
      literal += c;
      is_escaped = false;
      continue;
    }
    literal += '\\';
    for (const int shift : {6, 3, 0})
      literal += static_cast<char>('0' + (code >> shift & 7));
    is_escaped = true;
  }
  return literal + "\"";
}

TEST(TaskDescriptorTest, DescribesWhatTheSchemaHas) {
  protozero::internal::DescribeTaskEvents();
  const auto& extensions = protozero::internal::GetTraceExtensions();
  const std::string wanted = SetFromSchema();
  bool is_there = false;
  for (size_t i = 0; i < extensions.size(); ++i)
    is_there = is_there || extensions[i].ToStdString() == wanted;
  EXPECT_TRUE(is_there)
      << "TaskEvent or TrackEvent.task of trace.proto has changed. Replace the "
         "text of kDescriptorSet in src/tracing/track_event/task_descriptor.cc "
         "by this, and run tools/format:\n"
      << LiteralOf(wanted);
}

}  // namespace
