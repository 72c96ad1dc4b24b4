// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_trace_check.h"

#include "protozero/decode_status.h"
#include "protozero/tracing/trace.h"
#include "test/workloads/skynet_tracer.h"

namespace protozero::workloads {

namespace {

using protozero::trace::EventName;
using protozero::trace::InternedData;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

bool HasName(ConstBytes interned_data) {
  const InternedData::Decoder decoder(interned_data);
  for (const ConstBytes bytes : decoder.event_names()) {
    const EventName::Decoder name(bytes);
    if (name.iid() == SkynetTracer::kEventName &&
        name.name().ToStdStringView() == SkynetTracer::kEventNameText)
      return true;
  }
  return false;
}

}  // namespace

std::string SkynetTraceSums::FindProblem(const SkynetTree& tree,
                                         uint64_t lost) const {
  const std::string counts = std::to_string(begins) + " nodes have begun and " +
                             std::to_string(ends) + " have ended, of " +
                             std::to_string(tree.num_nodes());
  if (wrong != 0)
    return std::to_string(wrong) + " events are wrong; " + counts;
  if (begins + ends + lost != 2 * tree.num_nodes())
    return counts + "; " + std::to_string(lost) + " events were lost";
  return "";
}

std::string SkynetTraceSums::FindProblem(const SkynetTree& tree) const {
  const std::string problem = FindProblem(tree, 0);
  if (!problem.empty())
    return problem;
  if (leaf_begins != tree.num_leaves() || leaf_ends != tree.num_leaves() ||
      leaf_begin_ordinals != tree.sum() || leaf_end_ordinals != tree.sum())
    return "the trace has other leaves than the tree";
  return "";
}

SkynetTraceCheck::SkynetTraceCheck(const SkynetTree& tree,
                                   SkynetTraceSums* sums)
    : tree_(tree), sums_(sums), nodes_(tree.end_of_ids()) {}

void SkynetTraceCheck::OnEvent(ConstBytes packet) {
  if (!CountEvent(packet))
    ++sums_->wrong;
}

bool SkynetTraceCheck::CountEvent(ConstBytes bytes) {
  const TracePacket::Decoder packet(bytes);
  const TrackEvent::Decoder event(packet.track_event());
  const uint32_t writer = packet.trusted_packet_sequence_id();
  const uint64_t id = event.track_uuid();
  if (packet.status() != DecodeStatus::kOk ||
      event.status() != DecodeStatus::kOk || writer == 0 ||
      packet.timestamp() == 0 || !tree_.HasNode(id))
    return false;

  bool& knows_name = knows_name_[writer];
  if (packet.previous_packet_dropped())
    knows_name = false;
  if (packet.sequence_flags() & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED)
    knows_name = HasName(packet.interned_data());

  Node& node = nodes_[id];
  if (event.type() == TrackEvent::TYPE_SLICE_BEGIN) {
    if (node.begin_writer != 0 || node.end_writer == writer || !knows_name ||
        event.name_iid() != SkynetTracer::kEventName ||
        !(packet.sequence_flags() & TracePacket::SEQ_NEEDS_INCREMENTAL_STATE))
      return false;
    node.begin_writer = writer;
    ++sums_->begins;
    if (tree_.IsLeaf(id)) {
      ++sums_->leaf_begins;
      sums_->leaf_begin_ordinals += tree_.Ordinal(id);
    }
  } else if (event.type() == TrackEvent::TYPE_SLICE_END) {
    if (node.end_writer != 0)
      return false;
    node.end_writer = writer;
    ++sums_->ends;
    if (tree_.IsLeaf(id)) {
      ++sums_->leaf_ends;
      sums_->leaf_end_ordinals += tree_.Ordinal(id);
    }
  } else {
    return false;
  }
  if (node.begin_writer != 0 && node.end_writer != 0 &&
      node.begin_writer != node.end_writer)
    ++sums_->moved;
  return true;
}

}  // namespace protozero::workloads
