// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads the events of any trace, as pztrace does. Reading in one piece and
// reading packet by packet give the same slices, and arguments are JSON.

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "src/program/json_reader.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/timeline_reader.h"
#include "test/fuzz/check.h"

namespace {

using protozero::ConstBytes;
using protozero::test::Check;

// Checks the names of each dictionary.
class NameChecker final : public program::ValueSink {
 public:
  void Begin(Container) override { names_.emplace_back(); }
  void End() override { names_.pop_back(); }
  void Name(std::string_view name, NameKind kind) override {
    Check(names_.back().emplace(name, kind).second,
          "arguments with repeated names");
  }
  void Add(const program::Value&) override {}

 private:
  std::vector<std::set<std::pair<std::string, NameKind>>> names_{1};
};

// The events of a trace, in the order in which they come.
class Events {
 public:
  Events() : reader_(Callbacks()) {}

  void Read(ConstBytes packets) { reader_.Read(packets); }
  const std::vector<std::string>& Finish() {
    reader_.Finish();
    Check(reader_.lost_ends() <= reader_.unfinished(), "more than all");
    Check(num_unfinished_ + reader_.lost_ends() == reader_.unfinished(),
          "unfinished slices that are not shown");
    return events_;
  }

 private:
  pztrace::TimelineReader::Callbacks Callbacks() {
    pztrace::TimelineReader::Callbacks callbacks;
    callbacks.reads_details = true;
    callbacks.on_slice = [this](const pztrace::Slice& slice) { Add(slice); };
    callbacks.on_unfinished = [this](const pztrace::Slice& slice) {
      ++num_unfinished_;
      Add(slice);
    };
    callbacks.on_instant = [this](const pztrace::Instant& instant) {
      Add(*instant.text, instant.track, instant.time_ns,
          TextOf(*instant.details));
    };
    callbacks.on_counter = [this](const pztrace::CounterValue& value) {
      events_.push_back(std::to_string(value.track) + ' ' +
                        std::to_string(value.time_ns) + ' ' +
                        std::to_string(value.value));
      Look(value.track);
    };
    callbacks.on_task_step = [this](const pztrace::TaskStep& step) {
      Add(step);
    };
    return callbacks;
  }

  // Returns the arguments and flows as a text.
  std::string TextOf(const pztrace::EventDetails& details) {
    NameChecker checker;
    reader_.ReadArgs(details, pztrace::UniqueNames::kByKind, &checker);
    std::string text = "{";
    reader_.AppendArgs(details, &text);
    text += '}';
    Check(program::ReadJson(text, &checker), "arguments are no JSON");
    for (const pztrace::EventFlow& flow : details.flows)
      text += ' ' + std::to_string(flow.id) + (flow.ends_here ? "." : "");
    return text;
  }

  void Add(const pztrace::Slice& slice) {
    Check(slice.self_ns <= slice.duration_ns, "longer than all of it");
    Check(slice.begin_ns + slice.duration_ns >= slice.begin_ns,
          "an end before the begin");
    Add(*slice.text, slice.track, slice.begin_ns,
        TextOf(*slice.details) + ' ' + std::to_string(slice.duration_ns) + ' ' +
            std::to_string(slice.self_ns) + ' ' + std::to_string(slice.depth));
  }

  void Add(const pztrace::TaskStep& step) {
    using Kind = pztrace::TaskStep::Kind;
    Thread& thread = threads_[step.thread];
    Check(step.time_ns >= thread.last_ns, "a step out of order");
    thread.last_ns = step.time_ns;
    Check(step.kind != Kind::kLoss || !thread.is_behind_loss, "two losses");
    thread.is_behind_loss = step.kind == Kind::kLoss;
    Check(step.task != 0 || step.kind == Kind::kSwitch ||
              step.kind == Kind::kRequest || step.kind == Kind::kLoss,
          "a step of no task");
    Check(step.text.size() <= pztrace::EventText::kMaxTextSize,
          "a text that should be cut");
    std::string line =
        std::to_string(static_cast<int>(step.kind)) + ' ' +
        std::to_string(static_cast<int>(step.stop)) + ' ' +
        std::to_string(step.result) + ' ' + std::to_string(step.thread) + ' ' +
        std::to_string(step.process) + ' ' + std::to_string(step.time_ns) +
        ' ' + std::to_string(step.task) + ' ' +
        std::to_string(step.parent.value_or(0)) + ' ' + std::string(step.text);
    for (const pztrace::TaskPlace* place : {step.spawned_at, step.waits_at}) {
      if (place != nullptr)
        line += ' ' + place->name + ' ' + place->file;
    }
    events_.push_back(line);
    Look(step.thread);
    Look(step.process);
  }

  void Add(const pztrace::EventText& text,
           uint64_t track,
           uint64_t time_ns,
           const std::string& more) {
    Check(text.name.size() <= pztrace::EventText::kMaxTextSize,
          "a text that should be cut");
    events_.push_back(text.category + ' ' + text.name + ' ' +
                      std::to_string(track) + ' ' + std::to_string(time_ns) +
                      ' ' + more);
    Look(track);
    reader_.RealtimeOf(time_ns);
  }

  // Asks all questions about a track. Each has an answer.
  void Look(uint64_t track) {
    for (const uint64_t part : reader_.tracks().PathTo(track))
      reader_.tracks().Find(part);
  }

  struct Thread {
    uint64_t last_ns = 0;
    bool is_behind_loss = false;
  };

  std::vector<std::string> events_;
  std::map<uint64_t, Thread> threads_;  // Threads with tasks.
  uint64_t num_unfinished_ = 0;
  pztrace::TimelineReader reader_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Events whole;
  whole.Read({data, size});
  Events parts;
  protozero::ProtoDecoder decoder(data, size);
  size_t begin = 0;
  while (decoder.ReadField()) {
    parts.Read({data + begin, decoder.read_offset() - begin});
    begin = decoder.read_offset();
  }
  Check(whole.Finish() == parts.Finish(), "in parts, it has other events");
  return 0;
}
