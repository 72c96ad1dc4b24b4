// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/trace_input.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <string_view>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/input_kind.h"
#include "src/program/text.h"
#include "src/pztrace/otlp/otlp_file.h"
#include "src/pztrace/otlp/otlp_trace.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::Field;

constexpr uint8_t kPacketTag = 0x0a;

// Returns whether there is a packet, or the beginning of a large one.
bool HasPacket(ConstBytes begin) {
  if (begin.data[0] == kPacketTag)
    return true;
  protozero::ProtoDecoder decoder(begin);
  while (const Field field = decoder.ReadField()) {
    if (field.id() == protozero::trace::Trace::kPacketFieldNumber)
      return true;
  }
  return false;
}

}  // namespace

bool TraceInput::Open(const std::string& file, const char* command) {
  file_ = program::OpenFile(kProgram, file);
  if (!file_)
    return false;
  stream_.emplace(file_.get());
  bool is_whole = false;
  const ConstBytes begin = stream_->Peek(&is_whole);
  // This happens if the file is a folder, for example. If there is a beginning,
  // it is read, and then the error is printed.
  const bool is_cut = !stream_->error().empty();
  if (is_cut && begin.size == 0) {
    program::PrintError(kProgram, "%s: %s", program::DisplayName(file),
                        stream_->error().c_str());
    return false;
  }
  if (IsOtlp(begin.ToStdStringView()))
    return OpenOtlp(file);
  std::string why = WhyNotOtlp(begin.ToStdStringView());
  if (why.empty()) {
    why = pbz::WhyNoMessage(begin, is_whole && !is_cut, file,
                            std::string(kProgram) + " " + command);
  }
  if (why.empty() && !HasPacket(begin))
    why = "is not a trace: it has no packets";
  if (why.empty())
    return true;
  program::PrintError(kProgram, "%s %s", program::DisplayName(file),
                      why.c_str());
  return false;
}

bool TraceInput::OpenOtlp(const std::string& file) {
  std::string content;
  stream_->ReadRest(&content);
  std::string why_cut = stream_->error();
  std::vector<std::string_view> messages;
  const std::string malformed = FindOtlpMessages(&content, &messages);
  if (why_cut.empty())
    why_cut = malformed;
  uint64_t num_reversed = 0;
  program::ScopedFile trace(tmpfile());
  if (!trace || !WriteTraceOfOtlp(messages, trace.get(), &num_reversed) ||
      fseek(trace.get(), 0, SEEK_SET) != 0) {
    program::PrintError(kProgram, "%s: a temporary file: %s",
                        program::DisplayName(file), strerror(errno));
    return false;
  }
  if (num_reversed != 0) {
    program::PrintError(kProgram,
                        "%s: %s without an end after the beginning: duration 0",
                        program::DisplayName(file),
                        program::CountOf(num_reversed, "span").c_str());
  }
  stream_.emplace(trace.get(), why_cut);
  file_ = std::move(trace);
  return true;
}

}  // namespace pztrace
