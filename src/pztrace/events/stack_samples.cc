// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/stack_samples.h"

#include <inttypes.h>
#include <stdio.h>

#include <algorithm>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/trace_file/mapping_path.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::KernelPacket;
using protozero::ProtoDecoder;
using protozero::trace::InternedData;
using protozero::trace::InternedString;
using protozero::trace::TracePacket;
using StackPacket = protozero::trace::StackSample;

// The most frames of a stack.
constexpr uint32_t kMaxDepth = 1024;

std::string InternedText(const KernelPacket& packet,
                         uint32_t list,
                         uint64_t iid) {
  return ProtoDecoder(packet.FindInterned(list, iid))
      .FindField(InternedString::kStrFieldNumber)
      .as_string()
      .ToStdString();
}

// Returns a message that a packet has, or has the number of.
ConstBytes MessageOf(ConstBytes message,
                     const KernelPacket& packet,
                     uint32_t list,
                     uint64_t iid) {
  return message.size != 0 ? message : packet.FindInterned(list, iid);
}

}  // namespace

void StackSamples::Add(const KernelPacket& packet) {
  if (packet.field_id() == TracePacket::kModuleSymbolsFieldNumber)
    return AddSymbols(packet.message());
  if (packet.field_id() != TracePacket::kStackSampleFieldNumber ||
      !packet.time_ns()) {
    return;
  }
  const StackPacket::Decoder sample(packet.message());
  const StackPacket::TaskContext::Decoder task(
      MessageOf(sample.task_context(), packet,
                InternedData::kStackSampleTaskContextsFieldNumber,
                sample.task_context_iid()));
  const StackPacket::ExecutionContext::Decoder execution(
      MessageOf(sample.execution_context(), packet,
                InternedData::kStackSampleExecutionContextsFieldNumber,
                sample.execution_context_iid()));
  uint32_t callsite = kNone;
  if (sample.has_callstack())
    callsite = InlineCallsiteOf(sample.callstack());
  else if (sample.has_callstack_iid())
    callsite = CallsiteOf(packet, sample.callstack_iid());
  const uint8_t counter =
      sample.has_primary_descriptor()
          ? AddCounter(sample.primary_descriptor())
          : CounterOf(packet, sample.primary_descriptor_iid());
  if (counters_[counter].is_time && time_period_ns_ == 0)
    time_period_ns_ = sample.primary_weight();
  if (sample.has_follower_weights())
    AddCounts(packet, task.tid());
  samples_.push_back(
      {*packet.time_ns(), sample.primary_weight(), task.tid(), task.pid(),
       callsite, execution.has_cpu() ? execution.cpu() : kNone,
       static_cast<uint8_t>(execution.mode()),
       sample.has_unwind_error() || sample.has_unwind_error_iid(), counter});
}

void StackSamples::AddCounts(const KernelPacket& packet, int64_t tid) {
  const StackPacket::Decoder sample(packet.message());
  CountedSample counted{tid, *packet.time_ns(), {}};
  auto weight = sample.follower_weights().begin();
  const auto end = sample.follower_weights().end();
  const auto add = [&](ConstBytes bytes) {
    if (weight == end)
      return;
    switch (StackPacket::CounterDescriptor::Decoder(bytes).unit()) {
      case StackPacket::UNIT_CPU_CYCLES:
        counted.counts.cycles += *weight;
        break;
      case StackPacket::UNIT_INSTRUCTIONS:
        counted.counts.instructions += *weight;
        break;
      case StackPacket::UNIT_CACHE_MISSES:
        counted.counts.cache_misses += *weight;
        break;
      default:
        break;
    }
    ++weight;
  };
  for (const auto descriptor : sample.follower_descriptors())
    add(descriptor);
  for (const uint64_t iid : sample.follower_descriptor_iids()) {
    add(packet.FindInterned(
        InternedData::kStackSampleCounterDescriptorsFieldNumber, iid));
  }
  counted_.push_back(counted);
}

StackSamples::Counts StackSamples::CountsOf(int64_t tid,
                                            uint64_t begin_ns,
                                            uint64_t end_ns) const {
  Counts sums;
  auto counted = std::lower_bound(
      counted_.begin(), counted_.end(), std::pair(tid, begin_ns),
      [](const CountedSample& sample, const auto& wanted) {
        return std::pair(sample.tid, sample.time_ns) < wanted;
      });
  for (; counted != counted_.end() && counted->tid == tid &&
         counted->time_ns < end_ns;
       ++counted) {
    sums.cycles += counted->counts.cycles;
    sums.instructions += counted->counts.instructions;
    sums.cache_misses += counted->counts.cache_misses;
  }
  return sums;
}

StackSamples::Sequence& StackSamples::SequenceOf(const KernelPacket& packet) {
  Sequence& sequence = sequences_[packet.sequence()];
  if (sequence.num_clears != packet.num_clears()) {
    sequence = Sequence();
    sequence.num_clears = packet.num_clears();
  }
  return sequence;
}

uint8_t StackSamples::CounterOf(const KernelPacket& packet, uint64_t iid) {
  if (iid == 0)
    return 0;
  Sequence& sequence = SequenceOf(packet);
  const auto known = sequence.counters.find(iid);
  if (known != sequence.counters.end())
    return known->second;
  const ConstBytes bytes = packet.FindInterned(
      InternedData::kStackSampleCounterDescriptorsFieldNumber, iid);
  const uint8_t counter = AddCounter(bytes);
  if (bytes.data != nullptr)
    sequence.counters.emplace(iid, counter);
  return counter;
}

uint8_t StackSamples::AddCounter(ConstBytes bytes) {
  const StackPacket::CounterDescriptor::Decoder descriptor(bytes);
  Counter counter;
  counter.name = descriptor.name().ToStdString();
  counter.is_of_waits = descriptor.unit() == StackPacket::UNIT_COUNT &&
                        counter.name == "context-switches";
  counter.is_of_running =
      !counter.is_of_waits && descriptor.unit() != StackPacket::UNIT_BYTES;
  counter.is_time = descriptor.unit() == StackPacket::UNIT_NANOSECONDS;
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (counters_[i].name == counter.name &&
        counters_[i].is_of_running == counter.is_of_running &&
        counters_[i].is_time == counter.is_time) {
      return static_cast<uint8_t>(i);
    }
  }
  // More are those of no recorder.
  if (counters_.size() > UINT8_MAX)
    return 0;
  counters_.push_back(std::move(counter));
  return static_cast<uint8_t>(counters_.size() - 1);
}

uint32_t StackSamples::CallsiteOf(const KernelPacket& packet, uint64_t iid) {
  Sequence& sequence = SequenceOf(packet);
  const auto known = sequence.callsites.find(iid);
  if (known != sequence.callsites.end())
    return known->second;
  const ConstBytes bytes =
      packet.FindInterned(InternedData::kCallstacksFieldNumber, iid);
  uint32_t callsite = kNone;
  uint32_t depth = 0;
  const protozero::trace::Callstack::Decoder stack(bytes);
  for (const uint64_t frame : stack.frame_ids()) {
    if (++depth > kMaxDepth)
      break;
    callsite = AddCallsite(callsite, FrameOf(packet, frame));
  }
  // Without data, the number may become known.
  if (bytes.data != nullptr)
    sequence.callsites.emplace(iid, callsite);
  return callsite;
}

uint32_t StackSamples::InlineCallsiteOf(ConstBytes bytes) {
  using InlineCallstack = protozero::trace::InlineCallstack;
  uint32_t callsite = kNone;
  uint32_t depth = 0;
  const InlineCallstack::Decoder stack(bytes);
  for (const auto entry : stack.frames()) {
    if (++depth > kMaxDepth)
      break;
    const InlineCallstack::Frame::Decoder of_stack(entry);
    Frame frame;
    frame.name = of_stack.function_name().ToStdString();
    frame.source = of_stack.source_file().ToStdString();
    frame.line = of_stack.line_number();
    callsite = AddCallsite(callsite, AddFrame(std::move(frame)));
  }
  return callsite;
}

uint32_t StackSamples::FrameOf(const KernelPacket& packet, uint64_t iid) {
  const protozero::trace::Frame::Decoder interned(
      packet.FindInterned(InternedData::kFramesFieldNumber, iid));
  Frame frame;
  frame.name = InternedText(packet, InternedData::kFunctionNamesFieldNumber,
                            interned.function_name_id());
  if (interned.has_mapping_id())
    frame.mapping = MappingOf(packet, interned.mapping_id());
  frame.rel_pc = interned.rel_pc();
  if (interned.has_source_path_iid()) {
    frame.source = InternedText(packet, InternedData::kSourcePathsFieldNumber,
                                interned.source_path_iid());
  }
  frame.line = interned.line_number();
  return AddFrame(std::move(frame));
}

uint32_t StackSamples::MappingOf(const KernelPacket& packet, uint64_t iid) {
  const protozero::trace::Mapping::Decoder interned(
      packet.FindInterned(InternedData::kMappingsFieldNumber, iid));
  Mapping mapping;
  for (const uint64_t part : interned.path_string_ids()) {
    AppendPathPart(
        InternedText(packet, InternedData::kMappingPathsFieldNumber, part),
        &mapping.path);
  }
  mapping.build_id = InternedText(packet, InternedData::kBuildIdsFieldNumber,
                                  interned.build_id());
  mapping.start = interned.start();
  mapping.end = interned.end();
  mapping.exact_offset = interned.exact_offset();
  mapping.load_bias = interned.load_bias();
  const auto [place, is_new] = mapping_ids_.try_emplace(
      MappingKey(mapping.path, mapping.build_id, mapping.start, mapping.end),
      static_cast<uint32_t>(mappings_.size()));
  if (is_new)
    mappings_.push_back(std::move(mapping));
  return place->second;
}

uint32_t StackSamples::AddFrame(Frame frame) {
  const auto [place, is_new] =
      frame_ids_.try_emplace(FrameKey(frame.name, frame.mapping, frame.rel_pc,
                                      frame.source, frame.line),
                             static_cast<uint32_t>(frames_.size()));
  if (is_new)
    frames_.push_back(std::move(frame));
  return place->second;
}

uint32_t StackSamples::AddCallsite(uint32_t parent, uint32_t frame) {
  const auto [place, is_new] = callsite_ids_.try_emplace(
      {parent, frame}, static_cast<uint32_t>(callsites_.size()));
  if (is_new) {
    callsites_.push_back(
        {parent, frame, parent == kNone ? 0 : callsites_[parent].depth + 1});
  }
  return place->second;
}

void StackSamples::AddSymbols(ConstBytes bytes) {
  const protozero::trace::ModuleSymbols::Decoder module(bytes);
  for (const auto entry : module.address_symbols()) {
    const protozero::trace::AddressSymbols::Decoder symbols(entry);
    std::vector<Frame> frames;
    for (const auto line_bytes : symbols.lines()) {
      const protozero::trace::Line::Decoder line(line_bytes);
      Frame& frame = frames.emplace_back();
      frame.name = line.function_name().ToStdString();
      frame.source = line.source_file_name().ToStdString();
      frame.line = line.line_number();
      frame.rel_pc = symbols.address();
    }
    symbols_[{module.path().ToStdString(), module.build_id().ToStdString(),
              symbols.address()}] = std::move(frames);
  }
}

// Makes the tree of callsites again, with the functions of places that had no
// name. Several inlined functions may be at one place.
void StackSamples::Symbolize() {
  if (symbols_.empty())
    return;
  const std::vector<Callsite> before = std::move(callsites_);
  callsites_.clear();
  callsite_ids_.clear();
  std::vector<uint32_t> now;
  for (const Callsite& callsite : before) {
    uint32_t parent = callsite.parent == kNone ? kNone : now[callsite.parent];
    const Frame frame = frames_[callsite.frame];
    auto found = symbols_.end();
    if (frame.name.empty() && frame.mapping != kNone) {
      const Mapping& mapping = mappings_[frame.mapping];
      found = symbols_.find({mapping.path, mapping.build_id, frame.rel_pc});
    }
    if (found == symbols_.end() || found->second.empty()) {
      parent = AddCallsite(parent, callsite.frame);
    } else {
      for (size_t i = found->second.size(); i-- > 0;) {
        Frame named = found->second[i];
        named.mapping = frame.mapping;
        parent = AddCallsite(parent, AddFrame(std::move(named)));
      }
    }
    now.push_back(parent);
  }
  for (Sample& sample : samples_) {
    if (sample.callsite != kNone)
      sample.callsite = now[sample.callsite];
  }
}

void StackSamples::Finish() {
  Symbolize();
  std::stable_sort(
      samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
        return std::tie(a.tid, a.time_ns) < std::tie(b.tid, b.time_ns);
      });
  std::sort(counted_.begin(), counted_.end(),
            [](const CountedSample& a, const CountedSample& b) {
              return std::tie(a.tid, a.time_ns) < std::tie(b.tid, b.time_ns);
            });
}

std::pair<size_t, size_t> StackSamples::Find(int64_t tid,
                                             uint64_t begin_ns,
                                             uint64_t end_ns) const {
  const auto place_of = [&](uint64_t time_ns) {
    return static_cast<size_t>(
        std::lower_bound(
            samples_.begin(), samples_.end(), std::pair(tid, time_ns),
            [](const Sample& sample, const auto& wanted) {
              return std::pair(sample.tid, sample.time_ns) < wanted;
            }) -
        samples_.begin());
  };
  return {place_of(begin_ns), place_of(std::max(begin_ns, end_ns))};
}

std::string StackSamples::TextOf(const Frame& frame) const {
  if (!frame.name.empty())
    return frame.name;
  char address[32];
  snprintf(address, sizeof(address), "0x%" PRIx64, frame.rel_pc);
  if (frame.mapping == kNone)
    return address;
  const std::string& path = mappings_[frame.mapping].path;
  return path.substr(path.rfind('/') + 1) + "+" + address;
}

std::vector<std::string> StackSamples::StackOf(uint32_t callsite,
                                               size_t limit) const {
  std::vector<std::string> texts;
  for (; callsite != kNone && texts.size() < limit;
       callsite = callsites_[callsite].parent) {
    texts.push_back(TextOf(frames_[callsites_[callsite].frame]));
  }
  return texts;
}

}  // namespace pztrace
