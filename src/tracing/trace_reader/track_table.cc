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

uint64_t KeyOfWriter(const PacketWriter& writer) {
  return uint64_t{writer.machine} << 32 | static_cast<uint32_t>(writer.pid);
}

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
  value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44d;
  return value ^ (value >> 33);
}

}  // namespace

void TrackTable::SetWriter(const PacketWriter& writer) {
  const bool is_same =
      writer.pid == writer_.pid && writer.machine == writer_.machine;
  writer_ = writer;
  if (is_same || renamed_of_writers_.empty())
    return;
  const auto found = renamed_of_writers_.find(KeyOfWriter(writer));
  renamed_ = found != renamed_of_writers_.end() ? &found->second : nullptr;
}

TrackIndex TrackTable::Rename(uint64_t uuid) {
  const uint64_t key = KeyOfWriter(writer_);
  renamed_ = &renamed_of_writers_[key];
  const auto known = renamed_->find(uuid);
  if (known != renamed_->end())
    return known->second;
  const TrackIndex index =
      IndexOfNumber(UnusedUuid(Mix(key) ^ Mix(Mix(uuid) + 4)));
  renamed_->emplace(uuid, index);
  said_uuids_.emplace(index, uuid);
  return index;
}

TrackIndex TrackTable::IndexOfNumber(uint64_t uuid) {
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
      sequence, IndexOfNumber(UnusedUuid(uint64_t{sequence} << 32 | 1)));
}

uint32_t TrackTable::FindThread(int32_t pid, int64_t tid) {
  const uint32_t process =
      pid != 0 ? processes_.ProcessOf(pid, writer_, /*is_own=*/false)
               : processes_.FindLast(pid, writer_.machine);
  return processes_.ThreadOf(process, pid, tid);
}

TrackIndex TrackTable::IndexOfThread(int32_t pid, int64_t tid) {
  return MakeThreadTrack(FindThread(pid, tid));
}

TrackIndex TrackTable::MakeThreadTrack(uint32_t index) {
  ProcessTable::Thread& thread = processes_.thread(index);
  if (thread.uuid == 0) {
    const TrackIndex track =
        IndexOfNumber(UnusedUuid(static_cast<uint64_t>(thread.tid) << 32 | 2));
    thread.uuid = tracks_[track].uuid;
    thread.has_made_track = true;
    tracks_[track].is_described = true;
    tracks_[track].kind = Kind::kThread;
    tracks_[track].more = index;
  }
  return IndexOfNumber(thread.uuid);
}

TrackIndex TrackTable::IndexOfMade(uint64_t id,
                                   StringId name,
                                   uint64_t parent) {
  const uint64_t key = Mix(id) ^ Mix(Mix(parent) + 3);
  const TrackIndex known = made_indexes_.Find(key);
  if (known != IdMap::kNone)
    return known;
  const TrackIndex index =
      made_indexes_.Insert(key, IndexOfNumber(UnusedUuid(key)));
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

// The last description with labels counts.
void TrackTable::ReadLabels(const trace::ProcessDescriptor::Decoder& said,
                            uint32_t process) {
  if (!said.has_process_labels())
    return;
  std::vector<StringId>& labels = labels_[process];
  labels.clear();
  for (const auto label : said.process_labels())
    labels.push_back(texts_->Intern(TextOf(label)));
}

void TrackTable::ReadProcessName(const trace::ProcessDescriptor::Decoder& said,
                                 uint32_t process) {
  if (said.process_name().size != 0)
    return processes_.NameProcess(process, TextOf(said.process_name()));
  for (const auto argument : said.cmdline())
    return processes_.NameProcess(process, ProgramOf(TextOf(argument)));
}

uint32_t TrackTable::OwnProcess(int32_t pid) {
  return pid != 0 ? processes_.ProcessOf(pid, writer_, /*is_own=*/true)
                  : processes_.FindLast(pid, writer_.machine);
}

void TrackTable::AddProcessTree(ConstBytes bytes) {
  ++num_changes_;
  // The system's own ids: no process of a container has such a one.
  const auto process_of = [this](int32_t pid) {
    return processes_.ProcessOf(pid, {0, pid, writer_.machine},
                                /*is_own=*/true);
  };
  const trace::ProcessTree::Decoder tree(bytes);
  for (const auto entry : tree.processes()) {
    const trace::ProcessTree::Process::Decoder process(entry);
    if (process.has_nspid() && has_kernel_tree_)
      continue;
    const uint32_t index = process_of(process.pid());
    for (const auto argument : process.cmdline()) {
      processes_.NameProcess(index, ProgramOf(TextOf(argument)));
      break;
    }
    MakeProcessTrack(index);
  }
  for (const auto entry : tree.threads()) {
    const trace::ProcessTree::Thread::Decoder thread(entry);
    const int32_t pid = thread.tgid();
    if (thread.has_nstid()) {
      int32_t own = 0;
      for (const int32_t tid : thread.nstid())
        own = tid;
      processes_.SetInnerTid(writer_.machine, pid, thread.tid(), own);
      if (has_kernel_tree_ || !thread.has_name())
        continue;
    }
    processes_.NameThread(
        processes_.ThreadOf(process_of(pid), pid, thread.tid()),
        TextOf(thread.name()), /*is_own=*/false);
  }
}

void TrackTable::AddProcess(int32_t pid, std::string_view name) {
  const uint32_t process = processes_.ProcessOf(pid, writer_, /*is_own=*/false);
  num_changes_ += !name.empty();
  processes_.NameProcess(process, name);
  MakeProcessTrack(process);
}

void TrackTable::AddThread(int32_t pid, int64_t tid, std::string_view name) {
  ++num_changes_;
  const uint32_t thread = FindThread(pid, tid);
  processes_.NameThread(thread, name, /*is_own=*/true);
  MakeThreadTrack(thread);
}

void TrackTable::SetCounter(TrackIndex index) {
  Track& track = tracks_[index];
  if (track.kind == Kind::kCounter)
    return;
  ++num_changes_;
  CounterOf(&track);
}

std::optional<TrackIndex> TrackTable::ThreadTrackOf(TrackIndex track) const {
  for (size_t i = 0; i < kMaxParents && track != IdMap::kNone; ++i) {
    const Track& part = tracks_[track];
    if (part.kind == Kind::kThread)
      return track;
    if (part.kind == Kind::kProcess || part.parent == 0)
      break;
    track = FindIndex(part.parent, track);
  }
  return std::nullopt;
}

TrackTable::Counter& TrackTable::CounterOf(Track* track) {
  if (track->kind != Kind::kCounter) {
    track->kind = Kind::kCounter;
    track->more = static_cast<uint32_t>(counters_.size());
    counters_.emplace_back();
  }
  return counters_[track->more];
}

void TrackTable::AddProcess(ConstBytes bytes) {
  ++num_changes_;
  const trace::ProcessDescriptor::Decoder said(bytes);
  const uint32_t process =
      processes_.ProcessOf(said.pid(), writer_, /*is_own=*/true);
  ReadProcessName(said, process);
  MakeProcessTrack(process);
}

void TrackTable::MakeProcessTrack(uint32_t process) {
  ProcessTable::Process& described = processes_.process(process);
  if (described.uuid != 0)
    return;
  ++num_changes_;
  described.has_made_track = true;
  Track& track = tracks_[IndexOfNumber(
      UnusedUuid(uint64_t{static_cast<uint32_t>(described.pid)} << 32 | 3))];
  described.uuid = track.uuid;
  track.is_described = true;
  track.kind = Kind::kProcess;
  track.more = process;
}

TrackIndex TrackTable::AddThread(ConstBytes thread_descriptor) {
  ++num_changes_;
  const trace::ThreadDescriptor::Decoder said(thread_descriptor);
  const uint32_t index =
      processes_.ThreadOf(OwnProcess(said.pid()), said.pid(), said.tid());
  processes_.NameThread(index, TextOf(said.thread_name()), /*is_own=*/true);
  return MakeThreadTrack(index);
}

bool TrackTable::IsOfOther(const trace::TrackDescriptor::Decoder& said,
                           TrackIndex index) const {
  const Track& track = tracks_[index];
  uint32_t process = ProcessTable::kNone;
  if (track.kind == Kind::kProcess)
    process = track.more;
  else if (track.kind == Kind::kThread)
    process = processes_.thread(track.more).process;
  if (process == ProcessTable::kNone)
    return false;
  const int32_t pid =
      said.has_process()
          ? trace::ProcessDescriptor::Decoder(said.process()).pid()
          : trace::ThreadDescriptor::Decoder(said.thread()).pid();
  return ProcessTable::IsOther(processes_.process(process), pid, writer_);
}

TrackIndex TrackTable::FindDescribed(
    const trace::TrackDescriptor::Decoder& said,
    uint64_t* parent) {
  const uint64_t uuid = said.uuid();
  const bool has_parent = said.parent_uuid() != 0;
  *parent = has_parent ? NumberOf(said.parent_uuid()) : 0;
  const TrackIndex index = IndexOf(uuid);
  if (said.has_process() || said.has_thread()) {
    if (!IsOfOther(said, index))
      return index;
    // The process of a thread follows, if it was not described before it.
    if (has_parent && said.has_thread())
      *parent = tracks_[Rename(said.parent_uuid())].uuid;
    return Rename(uuid);
  }
  // Programs make the uuids of tracks from those of their threads and
  // processes, so these are other ones, too.
  return *parent != said.parent_uuid() ? Rename(uuid) : index;
}

void TrackTable::Describe(ConstBytes bytes) {
  const trace::TrackDescriptor::Decoder said(bytes);
  uint64_t parent;
  const TrackIndex index = FindDescribed(said, &parent);
  Track& track = tracks_[index];
  num_changes_ += track.is_described || said.has_thread() || said.has_process();
  track.is_described = true;
  if (said.has_parent_uuid())
    track.parent = parent;
  track.order = said.sibling_order_rank();
  if (said.has_sibling_merge_behavior())
    ReadMerging(said, index);
  ReadRarity(said, index);
  ConstChars name = said.name();
  if (name.size == 0)
    name = said.static_name();
  if (name.size == 0)
    name = said.atrace_name();
  // The first name of a track that viewers merge with others stays, because
  // they refer to it by that.
  if (name.size != 0 &&
      (track.name == NameArena::kNone ||
       (said.sibling_merge_behavior() ==
            trace::TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE &&
        names_.Get(track.name) != TextOf(name)))) {
    track.name = names_.Add(TextOf(name));
  }
  if (said.has_thread())
    DescribeThread(said, &track);
  else if (said.has_process())
    DescribeProcess(said, &track);
  else if (said.has_counter())
    DescribeCounter(said.counter(), &track);
}

void TrackTable::DescribeThread(const trace::TrackDescriptor::Decoder& said,
                                Track* track) {
  const trace::ThreadDescriptor::Decoder descriptor(said.thread());
  const int32_t pid = descriptor.pid();
  const int64_t tid = descriptor.tid();
  const Track* const parent =
      track->parent == 0 ? nullptr : FindTrack(track->parent);
  const uint32_t process = parent != nullptr && parent->kind == Kind::kProcess
                               ? parent->more
                               : OwnProcess(pid);
  const bool is_known = track->kind == Kind::kThread &&
                        processes_.thread(track->more).pid == pid &&
                        processes_.thread(track->more).tid == tid;
  if (!is_known)
    track->more = processes_.ThreadOfNewTrack(process, pid, tid);
  track->kind = Kind::kThread;
  ProcessTable::Thread& thread = processes_.thread(track->more);
  thread.has_made_track = false;
  if (thread.uuid == 0)
    thread.uuid = track->uuid;
  processes_.NameThread(track->more, TextOf(descriptor.thread_name()),
                        /*is_own=*/true);
  if (said.has_chrome_thread()) {
    const trace::ChromeThreadDescriptor::Decoder chrome(said.chrome_thread());
    processes_.NameThread(track->more, ChromeThreadName(chrome.thread_type()),
                          /*is_own=*/false);
  }
}

void TrackTable::ReadRarity(const trace::TrackDescriptor::Decoder& said,
                            TrackIndex index) {
  if (!said.has_description() && !said.has_child_ordering() &&
      !said.has_sibling_order_rank() && !said.has_state()) {
    return;
  }
  Rarity& rarity = rarities_[index];
  if (said.has_description())
    rarity.description = texts_->Intern(TextOf(said.description()));
  if (said.has_child_ordering())
    rarity.child_ordering = said.child_ordering();
  rarity.has_order = rarity.has_order || said.has_sibling_order_rank();
  rarity.is_state = rarity.is_state || said.has_state();
}

void TrackTable::DescribeProcess(const trace::TrackDescriptor::Decoder& said,
                                 Track* track) {
  const trace::ProcessDescriptor::Decoder descriptor(said.process());
  const int32_t pid = descriptor.pid();
  if (track->kind != Kind::kProcess)
    track->more = processes_.ProcessOfNewTrack(pid, writer_);
  track->kind = Kind::kProcess;
  processes_.SetDescribed(track->more, pid, writer_);
  ProcessTable::Process& process = processes_.process(track->more);
  if (process.uuid == 0 || process.has_made_track) {
    process.uuid = track->uuid;
    process.has_made_track = false;
  }
  if (descriptor.has_start_timestamp_ns())
    process.start_ns = descriptor.start_timestamp_ns();
  ReadLabels(descriptor, track->more);
  ReadProcessName(descriptor, track->more);
  if (said.has_chrome_process() && process.name == TextTable::kEmpty) {
    const trace::ChromeProcessDescriptor::Decoder chrome(said.chrome_process());
    processes_.NameProcess(track->more,
                           ChromeProcessName(chrome.process_type()));
  }
}

void TrackTable::DescribeCounter(ConstBytes bytes, Track* track) {
  using Descriptor = trace::CounterDescriptor;
  const Descriptor::Decoder counter(bytes);
  Counter& more = CounterOf(track);
  track->is_incremental = counter.is_incremental();
  const bool is_time = counter.type() == Descriptor::COUNTER_THREAD_TIME_NS;
  const bool is_instructions =
      counter.type() == Descriptor::COUNTER_THREAD_INSTRUCTION_COUNT;
  if ((is_time || is_instructions) && track->name == NameArena::kNone)
    track->name = names_.Add(is_time ? kThreadTime : kThreadInstructions);
  // The unit of such a counter is known, whatever the trace says.
  more.unit =
      texts_->Intern(is_time                                      ? "ns"
                     : is_instructions                            ? "count"
                     : counter.unit() == Descriptor::UNIT_TIME_NS ? "ns"
                     : counter.unit() == Descriptor::UNIT_COUNT   ? "count"
                     : counter.unit() == Descriptor::UNIT_SIZE_BYTES
                         ? "bytes"
                         : TextOf(counter.unit_name()));
  if (counter.unit_multiplier() != 0)
    more.multiplier = static_cast<double>(counter.unit_multiplier());
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

uint32_t TrackTable::ProcessOfThread(const ProcessTable::Thread& thread,
                                     uint64_t parent) const {
  const Track* const track = parent == 0 ? nullptr : FindTrack(parent);
  if (track != nullptr && track->kind == Kind::kProcess)
    return track->more;
  return thread.process != ProcessTable::kNone
             ? thread.process
             : processes_.FindLast(thread.pid, 0);
}

// Returns the parent: for a thread its process, if that has a track.
uint64_t TrackTable::ParentOf(const Track& track) const {
  if (track.kind != Kind::kThread)
    return track.kind == Kind::kProcess ? 0 : track.parent;
  const uint32_t process =
      ProcessOfThread(processes_.thread(track.more), track.parent);
  if (process == ProcessTable::kNone || processes_.process(process).uuid == 0)
    return track.parent;
  return processes_.process(process).uuid;
}

void TrackTable::AddRarity(const Rarity& rarity, TrackInfo* info) const {
  constexpr std::string_view kOrderings[] = {"", "lexicographic",
                                             "chronological", "explicit"};
  if (rarity.child_ordering > 0 &&
      rarity.child_ordering < static_cast<int32_t>(std::size(kOrderings))) {
    info->child_ordering = kOrderings[rarity.child_ordering];
  }
  info->description = texts_->string(rarity.description);
  info->has_order = rarity.has_order;
  info->is_state = rarity.is_state;
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
      const ProcessTable::Process& process = processes_.process(track->more);
      info.is_process = true;
      info.process = track->more + 1;
      info.pid = process.pid;
      info.outer_pid = processes_.OuterPid(process);
      info.shares_id = process.shares_id;
      info.ordinal = process.ordinal;
      info.start_ns = process.start_ns;
      if (const auto said = labels_.find(track->more); said != labels_.end()) {
        for (const StringId label : said->second)
          info.labels.emplace_back(texts_->string(label));
      }
      if (process.name != TextTable::kEmpty)
        name = texts_->string(process.name);
      break;
    }
    case Kind::kThread: {
      const ProcessTable::Thread& thread = processes_.thread(track->more);
      const uint32_t process = ProcessOfThread(thread, track->parent);
      info.process = process + 1;  // kNone becomes 0.
      info.thread = track->more + 1;
      info.shares_id = thread.shares_id;
      info.ordinal = thread.ordinal;
      info.pid = thread.pid;
      info.tid = thread.tid;
      info.is_thread = true;
      info.outer_tid = processes_.OuterTid(thread, process);
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
  info.own_name = names_.Get(track->name);
  info.parent = ParentOf(*track);
  const auto rarity = rarities_.empty()
                          ? rarities_.end()
                          : rarities_.find(FindIndex(uuid, last_asked_));
  if (rarity != rarities_.end())
    AddRarity(rarity->second, &info);
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
