// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/program_offers.h"

#include <iterator>
#include <set>

#include "protozero/tracing/track_event.h"
#include "src/pztrace/shown_name.h"

namespace pztrace {

namespace {

using protozero::DataSourceDescriptor;
using protozero::TracingService;
namespace trace = protozero::trace;

std::string Shown(protozero::ConstChars text) {
  return ShownName({text.data, text.size});
}

// Returns a line for each category of events.
std::string CategoriesOf(const DataSourceDescriptor& source) {
  std::multiset<std::string> lines;
  const trace::DataSourceDescriptor::Decoder fields(source.raw_fields);
  const trace::TrackEventDescriptor::Decoder events(
      fields.track_event_descriptor());
  for (const protozero::ConstBytes bytes : events.available_categories()) {
    const trace::TrackEventCategory::Decoder category(bytes);
    std::string line = "  " + Shown(category.name());
    std::string tags;
    for (const protozero::ConstChars tag : category.tags())
      tags += (tags.empty() ? "" : " ") + Shown(tag);
    if (!tags.empty())
      line += " [" + tags + "]";
    if (category.has_description())
      line += ": " + Shown(category.description());
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
  const std::lock_guard<std::mutex> lock(mutex_);
  programs_[{producer.pid, producer.name}][source.name] = CategoriesOf(source);
  ++number_;
}

std::string ProgramOffers::Text(const protozero::TraceStats& stats) {
  std::set<Program> connected;
  for (const protozero::TraceProducerStats& producer : stats.producers)
    connected.insert({producer.pid, producer.name});
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = programs_.begin(); it != programs_.end();)
    it = connected.count(it->first) != 0 ? std::next(it) : programs_.erase(it);
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
  for (const auto& [program, sources] : programs_) {
    for (const auto& [name, categories] : sources) {
      text += ShownName(program.second) + " (" + std::to_string(program.first) +
              "): " + ShownName(name) + "\n" + categories;
    }
  }
  return text;
}

}  // namespace pztrace
