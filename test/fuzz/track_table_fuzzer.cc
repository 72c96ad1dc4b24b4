// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Gives TrackTable descriptions of few tracks, processes and threads, which
// repeat and contradict each other. The lists, the descriptions and the paths
// of tracks agree, and none of them changes without a new version.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/trace_reader/text_table.h"
#include "src/tracing/trace_reader/track_table.h"
#include "test/fuzz/check.h"
#include "test/fuzz/fuzz_input.h"

namespace {

using protozero::EventText;
using protozero::HeapBuffered;
using protozero::TrackInfo;
using protozero::internal::TextTable;
using protozero::internal::TrackIndex;
using protozero::internal::TrackTable;
using protozero::test::Check;
using protozero::test::FuzzInput;
using protozero::trace::ProcessDescriptor;
using protozero::trace::ProcessTree;
using protozero::trace::ThreadDescriptor;
using protozero::trace::TrackDescriptor;

constexpr size_t kMaxPath = 256;

class Run {
 public:
  void Step(FuzzInput* input) {
    switch (input->Byte() % 13) {
      case 0:
        Keep(table_.IndexOf(Uuid(input)));
        break;
      case 1:
        Keep(table_.IndexOfSequence(input->Byte() % 4));
        break;
      case 2: {
        const int32_t pid = Id(input);
        Keep(table_.IndexOfThread(pid, Id(input)));
        break;
      }
      case 3: {
        const uint64_t id = input->Byte() % 4;
        const uint64_t parent = Uuid(input);
        Keep(table_.IndexOfMade(id, texts_.Intern(Name(input)), parent));
        break;
      }
      case 4:
        if (!indexes_.empty())
          table_.SetCounter(indexes_[input->Byte() % indexes_.size()].first);
        break;
      case 5: {
        const int32_t pid = Id(input);
        table_.AddProcess(pid, Name(input));
        break;
      }
      case 6: {
        const int32_t pid = Id(input);
        const int64_t tid = Id(input);
        table_.AddThread(pid, tid, Name(input));
        break;
      }
      case 7: {
        HeapBuffered<ProcessDescriptor> process;
        Fill(input, process.get());
        const auto bytes = process.SerializeAsArray();
        table_.AddProcess({bytes.data(), bytes.size()});
        break;
      }
      case 8: {
        HeapBuffered<ThreadDescriptor> thread;
        Fill(input, thread.get());
        const auto bytes = thread.SerializeAsArray();
        Keep(table_.AddThread({bytes.data(), bytes.size()}));
        break;
      }
      case 9:
        AddProcessTree(input);
        break;
      case 10: {
        const uint32_t sequence = input->Byte() % 3;
        const int32_t pid = Id(input);
        table_.SetWriter({sequence, pid, input->Byte() % 2});
        break;
      }
      default:
        Describe(input);
        break;
    }
  }

  void CheckAll() {
    const std::vector<uint64_t> all = table_.All();
    const std::set<uint64_t> described(all.begin(), all.end());
    Check(described.size() == all.size(), "a track is there twice");
    for (const auto& [index, uuid] : indexes_)
      Check(table_.uuid(index) == uuid, "a track has another number");
    for (uint64_t uuid = 0; uuid < kUuids; ++uuid) {
      Check(table_.Find(uuid).has_value() == (described.count(uuid) != 0),
            "a description is not in the list");
      if (described.count(uuid) == 0)
        Check(table_.PathTo(uuid) == std::vector<uint64_t>{uuid},
              "a track is part of others without a description");
    }
    std::map<uint64_t, Seen> seen;
    for (const uint64_t uuid : all) {
      const std::optional<TrackInfo> info = table_.Find(uuid);
      Check(info.has_value(), "a description is missing");
      CheckInfo(*info);
      const std::vector<uint64_t> path = table_.PathTo(uuid);
      const bool is_known = CheckPath(path, uuid);
      seen[uuid] = {*info, path, is_known};
    }
    if (table_.version() == version_) {
      for (const auto& [uuid, before] : seen_) {
        const Seen& now = seen[uuid];
        Check(now.info.name == before.info.name &&
                  now.info.pid == before.info.pid &&
                  now.info.tid == before.info.tid &&
                  now.info.is_counter == before.info.is_counter &&
                  now.info.merging == before.info.merging &&
                  now.info.merge_key == before.info.merge_key &&
                  now.info.process == before.info.process &&
                  now.info.thread == before.info.thread &&
                  now.info.outer_pid == before.info.outer_pid &&
                  now.info.ordinal == before.info.ordinal &&
                  now.info.parent == before.info.parent,
              "a description changes");
        Check(!before.is_known || now.path == before.path, "a path changes");
      }
    }
    version_ = table_.version();
    seen_ = std::move(seen);
  }

 private:
  struct Seen {
    TrackInfo info;
    std::vector<uint64_t> path;
    bool is_known = false;  // True if all of the path is described.
  };

  static constexpr uint64_t kUuids = 12;

  static uint64_t Uuid(FuzzInput* input) { return input->Byte() % kUuids; }
  static int32_t Id(FuzzInput* input) {
    return static_cast<int32_t>(input->Byte() % 5) - 1;
  }
  static std::string Name(FuzzInput* input) {
    const uint32_t byte = input->Byte();
    // This text is longer than the table keeps, and its limit cuts a character.
    if (byte == 255) {
      std::string text(EventText::kMaxTextSize - 1, 'x');
      return text + "\xe2\x82\xac";
    }
    return std::string(byte % 3, static_cast<char>('a' + byte / 3 % 2));
  }

  void Keep(TrackIndex index) {
    indexes_.emplace_back(index, table_.uuid(index));
    Check(table_.IndexOfNumber(table_.uuid(index)) == index,
          "it has two places");
  }

  static void Fill(FuzzInput* input, ProcessDescriptor* process) {
    process->set_pid(Id(input));
    const std::string name = Name(input);
    if (input->Byte() % 2 != 0)
      process->add_cmdline(name + " option");
    else
      process->set_process_name(name);
  }
  static void Fill(FuzzInput* input, ThreadDescriptor* thread) {
    thread->set_pid(Id(input));
    thread->set_tid(Id(input));
    thread->set_thread_name(Name(input));
  }

  void AddProcessTree(FuzzInput* input) {
    HeapBuffered<ProcessTree> tree;
    for (uint32_t n = input->Byte() % 3; n != 0; --n) {
      auto* const process = tree->add_processes();
      process->set_pid(Id(input));
      process->add_cmdline(Name(input));
    }
    for (uint32_t n = input->Byte() % 3; n != 0; --n) {
      auto* const thread = tree->add_threads();
      thread->set_tid(Id(input));
      thread->set_tgid(Id(input));
      thread->set_name(Name(input));
    }
    const auto bytes = tree.SerializeAsArray();
    table_.AddProcessTree({bytes.data(), bytes.size()});
  }

  void Describe(FuzzInput* input) {
    const uint32_t kinds = input->Byte();
    HeapBuffered<TrackDescriptor> track;
    const uint64_t uuid = Uuid(input);
    track->set_uuid(uuid);
    if ((kinds & 1) != 0)
      track->set_parent_uuid(Uuid(input));
    if ((kinds & 2) != 0)
      track->set_name(Name(input));
    if ((kinds & 4) != 0)
      Fill(input, track->set_thread());
    if ((kinds & 8) != 0)
      Fill(input, track->set_process());
    if ((kinds & 16) != 0) {
      auto* const counter = track->set_counter();
      counter->set_unit_name(Name(input));
      counter->set_is_incremental((kinds & 32) != 0);
    }
    if ((kinds & 64) != 0)
      track->set_chrome_thread()->set_thread_type(Id(input));
    if ((kinds & 128) != 0)
      track->set_chrome_process()->set_process_type(Id(input));
    const uint32_t merging = input->Byte();
    if (merging % 8 < 5) {
      track->set_sibling_merge_behavior(
          static_cast<TrackDescriptor::SiblingMergeBehavior>(merging % 8));
    }
    if ((merging & 8) != 0)
      track->set_sibling_merge_key(Name(input));
    else if ((merging & 16) != 0)
      track->set_sibling_merge_key_int(merging / 32);
    const auto bytes = track.SerializeAsArray();
    table_.Describe({bytes.data(), bytes.size()});
    Check(table_.Find(table_.NumberOf(uuid)).has_value(),
          "it is not described");
  }

  static void CheckInfo(const TrackInfo& info) {
    Check(info.name.size() <= EventText::kMaxTextSize &&
              info.unit.size() <= EventText::kMaxTextSize &&
              info.merge_key.size() <= EventText::kMaxTextSize,
          "a name is too long");
    // A part of the character in Name() would remain.
    Check(info.name.find('\xe2') == std::string::npos, "a character is cut");
    Check(!info.is_counter || (info.pid == 0 && info.tid == 0),
          "a counter is a thread");
  }

  // Returns true if all of the path is described.
  bool CheckPath(const std::vector<uint64_t>& path, uint64_t uuid) const {
    Check(!path.empty() && path.back() == uuid, "a path leads elsewhere");
    Check(path.size() <= kMaxPath, "a path is too long");
    Check(std::set<uint64_t>(path.begin(), path.end()).size() == path.size(),
          "a path has a part twice");
    for (size_t i = 1; i < path.size(); ++i) {
      const std::optional<TrackInfo> info = table_.Find(path[i]);
      Check(info && info->parent == path[i - 1], "a path has a gap");
    }
    const std::optional<TrackInfo> outermost = table_.Find(path[0]);
    if (!outermost)
      return false;
    Check(outermost->parent == 0 || path.size() == kMaxPath ||
              std::find(path.begin(), path.end(), outermost->parent) !=
                  path.end(),
          "a path ends too early");
    return true;
  }

  TextTable texts_;
  TrackTable table_{&texts_};
  std::vector<std::pair<TrackIndex, uint64_t>> indexes_;
  std::map<uint64_t, Seen> seen_;
  uint64_t version_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Run run;
  while (!input.is_at_end()) {
    run.Step(&input);
    run.CheckAll();
  }
  return 0;
}
