// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/program_offers.h"

#include <iterator>
#include <set>

#include "protozero/tracing/track_event.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using protozero::DataSourceDescriptor;
using protozero::PeerIdentity;
using protozero::PeerShares;
using protozero::TracingService;
namespace trace = protozero::trace;

std::string ShownChars(protozero::ConstChars text) {
  return ShownName({text.data, text.size});
}

// Returns a line for each category of events, of up to |max_size| bytes. Sets
// |is_cut| if there are more.
std::string CategoriesOf(const DataSourceDescriptor& source,
                         size_t max_size,
                         bool* is_cut) {
  std::multiset<std::string> lines;
  size_t size = 0;
  const trace::DataSourceDescriptor::Decoder fields(source.raw_fields);
  const trace::TrackEventDescriptor::Decoder events(
      fields.track_event_descriptor());
  for (const protozero::ConstBytes bytes : events.available_categories()) {
    const trace::TrackEventCategory::Decoder category(bytes);
    std::string line = "  " + ShownChars(category.name());
    std::string tags;
    for (const protozero::ConstChars tag : category.tags())
      tags += (tags.empty() ? "" : " ") + ShownChars(tag);
    if (!tags.empty())
      line += " [" + tags + "]";
    if (category.has_description())
      line += ": " + ShownChars(category.description());
    size += line.size() + 1;
    if (size > max_size) {
      *is_cut = true;
      break;
    }
    lines.insert(line + "\n");
  }
  std::string text;
  for (const std::string& line : lines)
    text += line;
  if (events.has_categories_left_out()) {
    text += "  and " + std::to_string(events.categories_left_out()) +
            " more, for which the program has no room\n";
  }
  return text;
}

}  // namespace

void ProgramOffers::Add(const TracingService::ProducerInfo& producer,
                        const DataSourceDescriptor& source) {
  const PeerIdentity peer = {static_cast<uid_t>(producer.uid), producer.pid};
  std::pair<const Offer, std::string> offer(
      {ShownName(producer.name), ShownName(source.name)}, "");
  const std::lock_guard<std::mutex> lock(mutex_);
  ++number_;
  const auto [it, is_new] = processes_.try_emplace(PeerShares::ProcessOf(peer));
  Process& process = it->second;
  if (is_new)
    process.number = number_;
  // An earlier offer of that name gives its room back.
  const auto old = process.offers.find(offer.first);
  if (old != process.offers.end()) {
    Uncharge(peer, BytesOf(*old));
    process.offers.erase(old);
  }
  const size_t used = shares_.OfProcess(peer) + BytesOf(offer);
  if (used <= kMaxBytesPerProcess) {
    offer.second =
        CategoriesOf(source, kMaxBytesPerProcess - used, &process.is_cut);
  } else {
    process.is_cut = true;
  }
  if (used <= kMaxBytesPerProcess && MakeRoom(peer, BytesOf(offer))) {
    const size_t bytes = BytesOf(offer);
    shares_.Reserve(peer);
    process.offers.insert(std::move(offer));
    shares_.Add(peer, bytes);
    bytes_ += bytes;
  }
  if (process.offers.empty())
    Forget(it);
}

bool ProgramOffers::MakeRoom(const PeerIdentity& peer, size_t bytes) {
  while (bytes > kMaxBytes - bytes_) {
    is_cut_ = true;
    const auto larger = shares_.WhoMakesRoom(peer, /*is_full=*/true, bytes);
    const auto victim =
        larger.has_value() ? processes_.find(*larger) : EarlierOfUser(peer);
    if (victim == processes_.end())
      return false;
    Forget(victim);
  }
  return true;
}

// Returns the process of the peer's user, but the peer, that came first.
ProgramOffers::Processes::iterator ProgramOffers::EarlierOfUser(
    const PeerIdentity& peer) {
  auto first = processes_.end();
  for (auto it = processes_.begin(); it != processes_.end(); ++it) {
    if (it->first.first == peer.uid && it->first.second != peer.pid &&
        (first == processes_.end() ||
         it->second.number < first->second.number)) {
      first = it;
    }
  }
  return first;
}

void ProgramOffers::Uncharge(const PeerIdentity& peer, size_t bytes) {
  shares_.Remove(peer, bytes);
  bytes_ -= bytes;
}

ProgramOffers::Processes::iterator ProgramOffers::Forget(
    Processes::iterator process) {
  const PeerIdentity peer = {process->first.first, process->first.second};
  Uncharge(peer, shares_.OfProcess(peer));
  return processes_.erase(process);
}

std::string ProgramOffers::Text(const protozero::TraceStats& stats) {
  std::set<std::pair<int32_t, std::string>> connected;
  for (const protozero::TraceProducerStats& producer : stats.producers)
    connected.insert({producer.pid, ShownName(producer.name)});
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = processes_.begin(); it != processes_.end();) {
    const PeerIdentity peer = {it->first.first, it->first.second};
    auto& offers = it->second.offers;
    for (auto offer = offers.begin(); offer != offers.end();) {
      if (connected.count({peer.pid, offer->first.first}) != 0) {
        ++offer;
        continue;
      }
      Uncharge(peer, BytesOf(*offer));
      offer = offers.erase(offer);
    }
    it = offers.empty() ? Forget(it) : std::next(it);
  }
  return TextLocked();
}

std::string ProgramOffers::Text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return TextLocked();
}

uint64_t ProgramOffers::number() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return number_;
}

std::string ProgramOffers::TextLocked() const {
  std::string text;
  static_assert(kMaxBytesPerProcess == 256 << 10 && kMaxBytes == 2 << 20,
                "the texts below have these numbers");
  for (const auto& [id, process] : processes_) {
    for (const auto& [offer, categories] : process.offers) {
      text += offer.first + " (" + std::to_string(id.second) +
              "): " + offer.second + "\n" + categories;
    }
    if (process.is_cut)
      text += "  and more: only 256 KB are listed of a process\n";
  }
  if (is_cut_)
    text += "and more: only 2 MB are listed of all programs\n";
  return text;
}

}  // namespace pztrace
