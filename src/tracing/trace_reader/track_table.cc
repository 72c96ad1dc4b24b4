// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/track_table.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>

#include "protozero/internal/compiler.h"
#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The greatest length of a path.
constexpr size_t kMaxParents = 256;

std::string_view TextOf(ConstChars text) {
  return text.ToStdStringView();
}

// Returns the program of a command line. Some programs write theirs as one
// argument.
std::string_view ProgramOf(std::string_view argument) {
  return argument.substr(0, argument.find(' '));
}

const char* ChromeProcessName(int32_t type) {
  constexpr const char* kNames[] = {"",        "Browser",     "Renderer",
                                    "Utility", "Zygote",      "SandboxHelper",
                                    "Gpu",     "PpapiPlugin", "PpapiBroker"};
  return type > 0 && type < static_cast<int32_t>(std::size(kNames))
             ? kNames[type]
             : "";
}

const char* ChromeThreadName(int32_t type) {
  constexpr const char* kNames[] = {
      "",
      "CrProcessMain",
      "ChromeIOThread",
      "ThreadPoolBackgroundWorker&",
      "ThreadPoolForegroundWorker&",
      "ThreadPoolSingleThreadForegroundBlocking&",
      "ThreadPoolSingleThreadBackgroundBlocking&",
      "ThreadPoolService",
      "Compositor",
      "VizCompositorThread",
      "CompositorTileWorker&",
      "ServiceWorkerThread&",
  };
  if (type == 50)
    return "MemoryInfra";
  if (type == 51)
    return "StackSamplingProfiler";
  return type > 0 && type < static_cast<int32_t>(std::size(kNames))
             ? kNames[type]
             : "";
}

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
  value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44d;
  return value ^ (value >> 33);
}

}  // namespace

TrackIndex TrackTable::IndexOf(uint64_t uuid) {
  Recent& recent = recent_[ToSize((uuid ^ (uuid >> 17)) % recent_.size())];
  if (recent.index != IdMap::kNone && recent.uuid == uuid)
    return recent.index;
  // Tracks are mostly used in the order in which they are described.
  TrackIndex index = FindIndex(uuid, last_used_ + 1);
  if (index == IdMap::kNone) {
    index = static_cast<TrackIndex>(tracks_.size());
    tracks_.emplace_back().uuid = uuid;
    indexes_.Add([this](uint32_t i) { return tracks_[i].uuid; });
  }
  last_used_ = index;
  recent = {uuid, index};
  return index;
}

uint64_t TrackTable::UnusedUuid(uint64_t seed) {
  uint64_t uuid = Mix(seed);
  while (uuid == 0 || FindIndex(uuid, 0) != IdMap::kNone)
    uuid = Mix(uuid + 1);
  return uuid;
}

TrackIndex TrackTable::IndexOfSequence(uint32_t sequence) {
  const TrackIndex known = sequence_indexes_.Find(sequence);
  if (known != IdMap::kNone)
    return known;
  return sequence_indexes_.Insert(
      sequence, IndexOf(UnusedUuid(uint64_t{sequence} << 32 | 1)));
}

TrackIndex TrackTable::IndexOfThread(int32_t pid, int64_t tid) {
  const uint32_t thread = ThreadOf(pid, tid);
  if (threads_[thread].uuid == 0) {
    const TrackIndex index =
        IndexOf(UnusedUuid(static_cast<uint64_t>(tid) << 32 | 2));
    threads_[thread].uuid = tracks_[index].uuid;
    tracks_[index].is_described = true;
    tracks_[index].kind = Kind::kThread;
    tracks_[index].more = thread;
  }
  return IndexOf(threads_[thread].uuid);
}

TrackIndex TrackTable::IndexOfMade(uint64_t id,
                                   StringId name,
                                   uint64_t parent) {
  const uint64_t key = Mix(id) ^ Mix(Mix(parent) + 3);
  const TrackIndex known = made_indexes_.Find(key);
  if (known != IdMap::kNone)
    return known;
  const TrackIndex index = made_indexes_.Insert(key, IndexOf(UnusedUuid(key)));
  Track& track = tracks_[index];
  track.is_described = true;
  track.name = names_.Add(texts_->string(name));
  track.parent = parent;
  return index;
}

double TrackTable::multiplier(TrackIndex track) const {
  const Track& counter = tracks_[track];
  return counter.kind == Kind::kCounter ? counters_[counter.more].multiplier
                                        : 1;
}

uint32_t TrackTable::ProcessOf(int32_t pid) {
  const auto next = static_cast<uint32_t>(processes_.size());
  const uint32_t index =
      process_indexes_.Insert(static_cast<uint32_t>(pid), next);
  if (index == next)
    processes_.emplace_back().pid = pid;
  return index;
}

uint32_t TrackTable::ThreadOf(int32_t pid, int64_t tid) {
  const auto next = static_cast<uint32_t>(threads_.size());
  const uint64_t key =
      static_cast<uint64_t>(tid) ^ Mix(static_cast<uint32_t>(pid));
  const uint32_t index = thread_indexes_.Insert(key, next);
  if (index == next) {
    Thread& thread = threads_.emplace_back();
    thread.pid = pid;
    thread.tid = tid;
  }
  return index;
}

void TrackTable::NameProcess(uint32_t process, std::string_view name) {
  if (!name.empty())
    processes_[process].name = texts_->Intern(name);
}

void TrackTable::NameThread(uint32_t thread,
                            std::string_view name,
                            bool is_own) {
  Thread& named = threads_[thread];
  // A thread's own name outranks the kernel's name and the name of its kind.
  if (name.empty() || (named.is_named_by_itself && !is_own))
    return;
  named.name = texts_->Intern(name);
  named.is_named_by_itself = is_own;
}

uint32_t TrackTable::ReadProcess(ConstBytes bytes) {
  const trace::ProcessDescriptor::Decoder process(bytes);
  const uint32_t index = ProcessOf(process.pid());
  if (process.process_name().size != 0) {
    NameProcess(index, TextOf(process.process_name()));
    return index;
  }
  for (const auto argument : process.cmdline()) {
    NameProcess(index, ProgramOf(TextOf(argument)));
    break;
  }
  return index;
}

uint32_t TrackTable::ReadThread(ConstBytes bytes) {
  const trace::ThreadDescriptor::Decoder thread(bytes);
  const uint32_t index = ThreadOf(thread.pid(), thread.tid());
  NameThread(index, TextOf(thread.thread_name()), /*is_own=*/true);
  return index;
}

void TrackTable::AddProcessTree(ConstBytes bytes) {
  ++num_changes_;
  const trace::ProcessTree::Decoder tree(bytes);
  for (const auto entry : tree.processes()) {
    const trace::ProcessTree::Process::Decoder process(entry);
    const uint32_t index = ProcessOf(process.pid());
    for (const auto argument : process.cmdline()) {
      NameProcess(index, ProgramOf(TextOf(argument)));
      break;
    }
    MakeProcessTrack(index);
  }
  for (const auto entry : tree.threads()) {
    const trace::ProcessTree::Thread::Decoder thread(entry);
    NameThread(ThreadOf(thread.tgid(), thread.tid()), TextOf(thread.name()),
               /*is_own=*/false);
  }
}

void TrackTable::AddProcess(int32_t pid, std::string_view name) {
  const uint32_t process = ProcessOf(pid);
  num_changes_ += !name.empty();
  NameProcess(process, name);
  MakeProcessTrack(process);
}

void TrackTable::AddThread(int32_t pid, int64_t tid, std::string_view name) {
  ++num_changes_;
  NameThread(ThreadOf(pid, tid), name, /*is_own=*/true);
  IndexOfThread(pid, tid);
}

void TrackTable::SetCounter(TrackIndex index) {
  Track& track = tracks_[index];
  if (track.kind == Kind::kCounter)
    return;
  ++num_changes_;
  CounterOf(&track);
}

TrackTable::Counter& TrackTable::CounterOf(Track* track) {
  if (track->kind != Kind::kCounter) {
    track->kind = Kind::kCounter;
    track->more = static_cast<uint32_t>(counters_.size());
    counters_.emplace_back();
  }
  return counters_[track->more];
}

void TrackTable::AddProcess(ConstBytes process_descriptor) {
  ++num_changes_;
  MakeProcessTrack(ReadProcess(process_descriptor));
}

void TrackTable::MakeProcessTrack(uint32_t process) {
  Process& described = processes_[process];
  if (described.uuid != 0)
    return;
  ++num_changes_;
  described.has_made_track = true;
  Track& track = tracks_[IndexOf(
      UnusedUuid(uint64_t{static_cast<uint32_t>(described.pid)} << 32 | 3))];
  described.uuid = track.uuid;
  track.is_described = true;
  track.kind = Kind::kProcess;
  track.more = process;
}

TrackIndex TrackTable::AddThread(ConstBytes thread_descriptor) {
  ++num_changes_;
  const uint32_t index = ReadThread(thread_descriptor);
  return IndexOfThread(threads_[index].pid, threads_[index].tid);
}

void TrackTable::Describe(ConstBytes bytes) {
  const trace::TrackDescriptor::Decoder said(bytes);
  const TrackIndex index = IndexOf(said.uuid());
  Track& track = tracks_[index];
  num_changes_ += track.is_described || said.has_thread() || said.has_process();
  track.is_described = true;
  if (said.has_parent_uuid())
    track.parent = said.parent_uuid();
  track.order = said.sibling_order_rank();
  if (said.has_sibling_merge_behavior())
    ReadMerging(said, index);
  ConstChars name = said.name();
  if (name.size == 0)
    name = said.static_name();
  if (name.size == 0)
    name = said.atrace_name();
  // The first name of a track stays, because other data refer to it by that.
  if (name.size != 0 && track.name == NameArena::kNone)
    track.name = names_.Add(TextOf(name));
  if (said.has_thread()) {
    track.kind = Kind::kThread;
    track.more = ReadThread(said.thread());
    if (said.has_chrome_thread()) {
      const trace::ChromeThreadDescriptor::Decoder chrome(said.chrome_thread());
      NameThread(track.more, ChromeThreadName(chrome.thread_type()),
                 /*is_own=*/false);
    }
    Thread& thread = threads_[track.more];
    if (thread.uuid == 0)
      thread.uuid = track.uuid;
  } else if (said.has_process()) {
    track.kind = Kind::kProcess;
    track.more = ReadProcess(said.process());
    Process& process = processes_[track.more];
    if (process.uuid == 0 || process.has_made_track) {
      process.uuid = track.uuid;
      process.has_made_track = false;
    }
    if (said.has_chrome_process() && process.name == TextTable::kEmpty) {
      const trace::ChromeProcessDescriptor::Decoder chrome(
          said.chrome_process());
      NameProcess(track.more, ChromeProcessName(chrome.process_type()));
    }
  } else if (said.has_counter()) {
    using Descriptor = trace::CounterDescriptor;
    const Descriptor::Decoder counter(said.counter());
    Counter& more = CounterOf(&track);
    track.is_incremental = counter.is_incremental();
    more.unit =
        texts_->Intern(counter.unit() == Descriptor::UNIT_TIME_NS ? "ns"
                       : counter.unit() == Descriptor::UNIT_COUNT ? "count"
                       : counter.unit() == Descriptor::UNIT_SIZE_BYTES
                           ? "bytes"
                           : TextOf(counter.unit_name()));
    if (counter.unit_multiplier() != 0)
      more.multiplier = static_cast<double>(counter.unit_multiplier());
  }
}

void TrackTable::ReadMerging(const trace::TrackDescriptor::Decoder& said,
                             TrackIndex index) {
  using Descriptor = trace::TrackDescriptor;
  TrackInfo::Merging& merging = tracks_[index].merging;
  merging = TrackInfo::Merging::kByName;
  if (said.sibling_merge_behavior() ==
      Descriptor::SIBLING_MERGE_BEHAVIOR_NONE) {
    merging = TrackInfo::Merging::kNone;
  } else if (said.sibling_merge_behavior() ==
             Descriptor::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY) {
    merging = TrackInfo::Merging::kByKey;
    merge_keys_[index] =
        said.has_sibling_merge_key_int()
            ? texts_->Intern("sibling_merge_key_int:" +
                             std::to_string(said.sibling_merge_key_int()))
            : texts_->Intern(TextOf(said.sibling_merge_key()));
  }
}

const TrackTable::Track* TrackTable::FindTrack(uint64_t uuid) const {
  const TrackIndex index = FindIndex(uuid, last_asked_);
  return index == IdMap::kNone || !tracks_[index].is_described
             ? nullptr
             : &tracks_[index];
}

// Returns the parent: for a thread its process, if that has a track.
uint64_t TrackTable::ParentOf(const Track& track) const {
  if (track.kind != Kind::kThread)
    return track.kind == Kind::kProcess ? 0 : track.parent;
  const Track* const parent =
      track.parent == 0 ? nullptr : FindTrack(track.parent);
  if (parent != nullptr && parent->kind == Kind::kProcess)
    return track.parent;
  const uint32_t process =
      process_indexes_.Find(static_cast<uint32_t>(threads_[track.more].pid));
  return process != IdMap::kNone && processes_[process].uuid != 0
             ? processes_[process].uuid
             : track.parent;
}

std::optional<TrackInfo> TrackTable::Find(uint64_t uuid) const {
  const Track* const track = FindTrack(uuid);
  if (track == nullptr)
    return std::nullopt;
  TrackInfo info;
  std::string_view name = names_.Get(track->name);
  switch (track->kind) {
    case Kind::kOther:
      break;
    case Kind::kProcess: {
      const Process& process = processes_[track->more];
      info.pid = process.pid;
      if (process.name != TextTable::kEmpty)
        name = texts_->string(process.name);
      break;
    }
    case Kind::kThread: {
      const Thread& thread = threads_[track->more];
      info.pid = thread.pid;
      info.tid = thread.tid;
      info.is_thread = true;
      if (thread.name != TextTable::kEmpty)
        name = texts_->string(thread.name);
      break;
    }
    case Kind::kCounter: {
      const Counter& counter = counters_[track->more];
      info.is_counter = true;
      info.is_incremental = track->is_incremental;
      info.unit = texts_->string(counter.unit);
      info.multiplier = counter.multiplier;
      break;
    }
  }
  info.name = name;
  info.parent = ParentOf(*track);
  info.order = track->order;
  info.merging = track->merging;
  if (info.merging == TrackInfo::Merging::kByKey)
    info.merge_key =
        texts_->string(merge_keys_.at(FindIndex(uuid, last_asked_)));
  return info;
}

std::vector<uint64_t> TrackTable::All() const {
  std::vector<uint64_t> all;
  for (const Track& track : tracks_) {
    if (track.is_described)
      all.push_back(track.uuid);
  }
  return all;
}

std::vector<uint64_t> TrackTable::PathTo(uint64_t uuid) const {
  std::vector<uint64_t> path = {uuid};
  // A path that comes back to an earlier track, |left_behind|, is a circle.
  uint64_t left_behind = uuid;
  size_t next_size = 4;
  bool may_be_circle = false;
  while (!may_be_circle) {
    const Track* const track = FindTrack(path.back());
    const uint64_t parent = track == nullptr ? 0 : ParentOf(*track);
    if (parent == 0)
      break;
    path.push_back(parent);
    may_be_circle = parent == left_behind || path.size() == kMaxParents;
    if (path.size() == next_size) {
      left_behind = parent;
      next_size *= 2;
    }
  }
  if (may_be_circle) {
    std::unordered_set<uint64_t> seen;
    path.erase(std::find_if(path.begin(), path.end(),
                            [&seen](uint64_t part) {
                              return !seen.insert(part).second;
                            }),
               path.end());
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
