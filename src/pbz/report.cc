// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/report.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/program/io.h"

namespace pbz {

namespace {

constexpr uint64_t kMaxReported = 5;

// Passes everything on, and reports malformed bytes.
class Reporter : public Visitor {
 public:
  Reporter(const char* program, const char* file, Visitor* next)
      : report_(program, file), next_(next) {}

  void OnValue(const Node& node) override { next_->OnValue(node); }
  void OnBegin(const Node& node) override { next_->OnBegin(node); }
  void OnEnd(const Node& node) override { next_->OnEnd(node); }
  void OnMessage(uint64_t offset, size_t size, size_t size_size) override {
    next_->OnMessage(offset, size, size_size);
  }
  void OnMalformed(uint64_t offset, size_t size, const char* reason) override {
    next_->OnMalformed(offset, size, reason);
    report_.Add(offset, reason);
  }

  const MalformedReport& report() const { return report_; }

 private:
  MalformedReport report_;
  Visitor* const next_;
};

}  // namespace

void MalformedReport::Add(uint64_t offset, const char* reason) {
  if (++count_ > kMaxReported)
    return;
  // The message comes after the output so far, if both go to the same place.
  fflush(stdout);
  program::PrintError(program_, "%s: malformed at offset %" PRIu64 ": %s",
                      file_, offset, reason);
}

uint64_t MalformedReport::Finish() const {
  if (count_ > kMaxReported) {
    program::PrintError(program_, "%s: %" PRIu64 " more", file_,
                        count_ - kMaxReported);
  }
  return count_;
}

bool WalkAndReport(const char* program,
                   const char* file,
                   const MessageType* type,
                   FieldStream* stream,
                   Visitor* visitor) {
  return WalkAndReport(
      program, file, [type](protozero::ConstBytes) { return type; }, stream,
      visitor);
}

bool WalkAndReport(
    const char* program,
    const char* file,
    const std::function<const MessageType*(protozero::ConstBytes)>& type,
    FieldStream* stream,
    Visitor* visitor) {
  Reporter reporter(program, file, visitor);
  FieldStream::Run run;
  while (stream->Next(&run) && !ferror(stdout)) {
    const uint64_t begin = run.offset - run.size_size;
    if (run.malformed)
      reporter.OnMalformed(begin, run.size_size, run.malformed);
    else if (stream->framing() == Framing::kDelimited)
      reporter.OnMessage(run.offset, run.size, run.size_size);
    const protozero::ConstBytes bytes(run.data, run.size);
    Walk(bytes, run.offset, type(bytes), &reporter);
  }
  const bool ok = reporter.report().Finish() == 0;
  if (stream->error().empty())
    return ok;
  program::PrintError(program, "%s: %s", file, stream->error().c_str());
  return false;
}

}  // namespace pbz
