// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/category_rules.h"

#include <algorithm>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.pbzero.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace trace_pb = ::perfetto::protos::PROTOZERO_ABI_NAMESPACE;

namespace {

constexpr std::string_view kSlowPrefix = "disabled-by-default-";

// The precision with which a pattern names something, from the least on.
enum class Level { kAll, kPrefix, kEqual };

bool Matches(std::string_view pattern, std::string_view name, Level level) {
  const size_t star = pattern.find('*');
  switch (level) {
    case Level::kEqual:
      return name == pattern;
    case Level::kPrefix:
      return star != std::string_view::npos && star != 0 &&
             name.substr(0, star) == pattern.substr(0, star);
    case Level::kAll:
      return star == 0;
  }
  return false;
}

// Calls |function| with each part of |list| until it returns true, and returns
// whether it did.
template <typename Function>
bool AnyPart(std::string_view list, char separator, Function function) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    if (end != 0 && function(list.substr(0, end)))
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Calls |function| with each pattern of a list that a person has written.
template <typename Function>
void ForEachPattern(std::string_view categories, Function function) {
  AnyPart(categories, ',', [&](std::string_view pattern) {
    // Spaces around it are for the eye: no category has them.
    const size_t first = pattern.find_first_not_of(' ');
    if (first != std::string_view::npos) {
      function(
          pattern.substr(first, pattern.find_last_not_of(' ') - first + 1));
    }
    return false;
  });
}

}  // namespace

CategoryRules::CategoryRules(std::string_view fields) {
  ProtoDecoder decoder(fields.data(), fields.size());
  for (Field field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    if (field.id() != trace_pb::DataSourceConfig::kTrackEventConfigFieldNumber)
      continue;
    const trace_pb::TrackEventConfig::Decoder config(field.as_bytes());
    for (const auto pattern : config.enabled_categories())
      enabled_categories_.push_back(pattern.ToStdString());
    for (const auto pattern : config.disabled_categories())
      disabled_categories_.push_back(pattern.ToStdString());
    if (config.has_enabled_tags() || config.has_disabled_tags())
      disabled_tags_.clear();
    for (const auto pattern : config.enabled_tags())
      enabled_tags_.push_back(pattern.ToStdString());
    for (const auto pattern : config.disabled_tags())
      disabled_tags_.push_back(pattern.ToStdString());
    filters_args_ = config.filter_debug_annotations();
    filters_dynamic_names_ = config.filter_dynamic_event_names();
  }
}

bool CategoryRules::Wants(std::string_view category,
                          std::string_view tags) const {
  return AnyPart(category, ',', [&](std::string_view one) {
    const bool is_slow = one.substr(0, kSlowPrefix.size()) == kSlowPrefix;
    return WantsOne(one, is_slow ? std::string_view("slow") : tags);
  });
}

bool CategoryRules::WantsOne(std::string_view category,
                             std::string_view tags) const {
  for (const Level level : {Level::kEqual, Level::kPrefix, Level::kAll}) {
    const auto names = [&](const Patterns& patterns, std::string_view name) {
      return std::any_of(patterns.begin(), patterns.end(),
                         [&](const std::string& pattern) {
                           return Matches(pattern, name, level);
                         });
    };
    const auto names_tag = [&](const Patterns& patterns) {
      return AnyPart(tags, ' ', [&](std::string_view tag) {
        return names(patterns, tag);
      });
    };
    if (names(enabled_categories_, category))
      return true;
    if (names(disabled_categories_, category) || names_tag(disabled_tags_))
      return false;
    if (names_tag(enabled_tags_))
      return true;
  }
  return true;
}

bool NamesCategory(std::string_view pattern, std::string_view category) {
  return Matches(pattern, category, Level::kEqual) ||
         Matches(pattern, category, Level::kPrefix) ||
         Matches(pattern, category, Level::kAll);
}

std::vector<std::string> WantedPatterns(std::string_view categories) {
  std::vector<std::string> wanted;
  ForEachPattern(categories, [&](std::string_view pattern) {
    if (pattern[0] != '-')
      wanted.emplace_back(pattern);
  });
  return wanted;
}

std::string EncodeCategories(std::string_view categories) {
  HeapBuffered<trace_pb::DataSourceConfig> config;
  auto* const events = config->set_track_event_config();
  bool has_wanted = false;
  ForEachPattern(categories, [&](std::string_view pattern) {
    if (pattern[0] == '-') {
      events->add_disabled_categories(pattern.substr(1));
    } else {
      events->add_enabled_categories(pattern);
      has_wanted = true;
    }
  });
  // The session wants no other categories.
  if (has_wanted)
    events->add_disabled_categories("*");
  return config.SerializeAsString();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
